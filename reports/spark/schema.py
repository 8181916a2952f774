"""The Spark schemas of the packed tables, derived from :mod:`harness.storage.parquet_schema`."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, StringType, StructField, StructType

from harness.plugins.workload import Columns
from harness.storage.parquet_schema import all_tables

#: The order of rows in each bucket, if it is more than the trial.
SORTED_BY: Mapping[str, str] = {"operations": "trial, n"}

SPARK_TYPES: Mapping[str, DataType] = {
    "string": StringType(),
    "long": LongType(),
    "bool": BooleanType(),
    "longs": ArrayType(LongType()),
}


def spark_schema(columns: Columns) -> StructType:
    """Return the schema in which Spark reads a table. Its Parquet reader makes every field nullable."""
    return StructType(
        [StructField(name, SPARK_TYPES[kind.removesuffix("?")]) for name, kind in columns.items()]
    )


def schemas() -> dict[str, StructType]:
    """Return the Spark schema of each table."""
    return {table: spark_schema(columns) for table, columns in all_tables().items()}
