"""Load packed tables as DataFrames, from any path that Arrow and Hadoop's file systems support.

Each part of the tables is a set of tables of its own, in buckets of ``trial`` that are sorted by it. Spark needs no
shuffle and no sort to join or group them by trial, and a part is read by as many tasks as it has buckets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession

from harness.model.errors import EnvironmentProblem, UsageError
from harness.storage.parquet_schema import all_tables
from harness.storage.parquet_writer import arrow_schema
from reports.spark.schema import SORTED_BY, spark_schema

_numbers = count()
#: A path that means the same as a path, as a URI, as a pattern, and in a literal of SQL.
_PLAIN = re.compile(r"[A-Za-z0-9_/.+@=,-]+")


@dataclass(frozen=True)
class Part:
    """One part of packed tables at ``base``: its folder in every table, and the number of its buckets."""

    base: str
    folder: str
    buckets: int

    def files(self, table: str) -> Iterator[str]:
        """Return the addresses of a table's files."""
        return (
            f"{self.base}/{table}/{self.folder}/rows_{bucket:05}.parquet" for bucket in range(self.buckets)
        )

    def read(self, table: str) -> pa.Table:
        """Return a whole table without Spark, for those that have a few rows per trial."""
        return pa.concat_tables(pq.read_table(file) for file in self.files(table))


def parts(base: str) -> list[Part]:
    """Return the parts of the tables at ``base``. Raises UsageError if there are none."""
    system, path = _located(base)
    selector = fs.FileSelector(f"{path}/trials", recursive=True, allow_not_found=True)
    found: dict[str, int] = {}
    for file in system.get_file_info(selector):
        if file.is_file and file.extension == "parquet":
            folder = file.path.rsplit("/", 2)[1]
            found[folder] = found.get(folder, 0) + 1
    if not found:
        raise UsageError(
            "not-a-table", "{path} is not a packed table: {why}", path=f"{base}/trials", why="it has no rows"
        )
    return [Part(base, folder, buckets) for folder, buckets in sorted(found.items())]


def load(spark: SparkSession, part: Part) -> Mapping[str, DataFrame]:
    """Return table name -> DataFrame of one part.

    Raises UsageError if a table is missing, or if its columns differ because another version packed it, and
    EnvironmentProblem if Spark does not find all its files.
    """
    return {table: _read(spark, part, table) for table in all_tables()}


def _read(spark: SparkSession, part: Part, table: str) -> DataFrame:
    _check(part, table)
    name = f"part_{next(_numbers)}"
    columns = ", ".join(
        f"`{field.name}` {field.dataType.simpleString()}" for field in spark_schema(all_tables()[table])
    )
    spark.sql(
        f"CREATE TABLE {name} ({columns}) USING parquet CLUSTERED BY (trial) "
        f"SORTED BY ({SORTED_BY.get(table, 'trial')}) INTO {part.buckets} BUCKETS "
        f"LOCATION '{_location(spark, f'{part.base}/{table}/{part.folder}', name)}'"
    )
    frame = spark.table(name)
    if (found := len(frame.inputFiles())) != part.buckets:
        raise EnvironmentProblem(
            "table-not-whole",
            "Spark found {found} of the {count} files of {path}/{table}",
            found=found,
            count=part.buckets,
            path=part.base,
            table=table,
        )
    return frame


def _location(spark: SparkSession, address: str, name: str) -> str:
    """Return an address that Spark takes literally: a link called ``name`` for a local folder with special characters.

    Spark would take the ``%20`` of a URI for a part of the name, and brackets for a pattern.
    """
    parts = urlsplit(address) if "://" in address else None
    if parts and parts.scheme != "file":
        return address.replace("'", "\\'")
    folder = Path(url2pathname(parts.path) if parts else address).absolute()
    if _PLAIN.fullmatch(str(folder)):
        return str(folder)
    link = Path(str(spark.conf.get("spark.local.dir"))).parent / name
    link.symlink_to(folder, target_is_directory=True)
    return str(link)


def _check(part: Part, table: str) -> None:
    wanted = arrow_schema(all_tables()[table])
    for file in part.files(table):
        system, path = _located(file)
        try:
            found = pq.read_schema(path, filesystem=system)
        except (OSError, pa.ArrowException) as error:
            raise UsageError(
                "not-a-table",
                "{path} is not a packed table: {why}",
                path=file,
                why=str(error).splitlines()[0],
            ) from error
        odd = [
            name
            for name in sorted({*found.names, *wanted.names})
            if name not in found.names
            or name not in wanted.names
            or found.field(name).type != wanted.field(name).type
        ]
        if odd:
            raise UsageError(
                "table-of-another-version",
                "{path} was packed by another version of kafka-trial: column {columns} differs",
                hint="kafka-trial report RUN packs the run again",
                path=file,
                columns=tuple(odd),
            )


def _located(address: str) -> tuple[fs.FileSystem, str]:
    if "://" not in address:
        return fs.LocalFileSystem(), address
    system, path = fs.FileSystem.from_uri(address)
    return system, path
