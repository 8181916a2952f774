"""Load packed tables as DataFrames, from any path that Hadoop's file systems support."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from harness.model.errors import UsageError
from reports.spark.schema import schemas


def load(spark: SparkSession, base: str) -> Mapping[str, DataFrame]:
    """Return table name -> DataFrame of ``base/<table>``.

    Raises UsageError if a table is missing, or if its columns differ because another version packed it.
    """
    return {table: _read(spark, f"{base}/{table}", schema) for table, schema in schemas().items()}


def _read(spark: SparkSession, path: str, expected: StructType) -> DataFrame:
    try:
        frame = spark.read.parquet(path)
    except AnalysisException as error:
        raise UsageError(
            "not-a-table", "{path} is not a packed table: {why}", path=path, why=str(error).splitlines()[0]
        ) from error
    found = {field.name: field.dataType for field in frame.schema}
    wanted = {field.name: field.dataType for field in expected}
    if found != wanted:
        odd = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
        raise UsageError(
            "table-of-another-version",
            "{path} was packed by another version of kafka-trial: column {columns} differs",
            hint="kafka-trial report RUN packs the run again",
            path=path,
            columns=tuple(odd),
        )
    return frame.select(*wanted)
