"""Load packed tables, from any path that Arrow's file systems support.

Each part of the tables is a set of tables of its own, in buckets: all rows of some trials are in one file of each
table. So a bucket can be judged without any other, and Spark moves no row. The trials of a bucket are read in groups of
a limited number of rows, so the largest trial limits memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from harness.model.errors import UsageError
from harness.storage.parquet_schema import all_tables
from harness.storage.parquet_writer import arrow_schema

#: The tables and columns that the second judgement reads. All have the column ``trial``.
READ: Mapping[str, Sequence[str]] = {
    "trials": (
        "run", "producers", "counted", "explains", "guarantee", "request_timeout_ms", "linger_ms",
        "load_api", "load_ns", "final_ns", "end_ns",
    ),
    "operations": ("n", "producer", "topic", "outcome", "invoke_ns", "complete_ns", "partition", "offset"),
    "log_records": (
        "topic", "partition", "offset", "base_offset", "timestamp_ms", "key", "intact", "control",
        "producer_id", "producer_epoch", "sequence", "batch_crc",
        "identity_run", "identity_trial", "identity_producer", "identity_n",
    ),
    "events": ("mono_ns", "wall_ns"),
    "frames": ("t_ns", "conn", "kind", "api", "size_bytes", "error_codes"),
    "blocked_requests": ("api", "size_bytes"),
    "produce_parts": (
        "frame", "t_ns", "received_ns", "broker", "conn", "correlation_id", "kind", "topic", "partition",
        "producer_id", "producer_epoch", "base_sequence", "crc", "base_offset", "error_code",
    ),
    "faults": ("index", "kind", "params_json", "effective_start_ns", "effective_end_ns"),
    "anomalies": ("kind", "n", "partition", "offset", "detail"),
}  # fmt: skip
#: The number of rows that are judged at a time, unless a single trial has more.
ROWS_AT_A_TIME = 70_000


@dataclass(frozen=True)
class Bucket:
    """One file of each table at ``base``."""

    base: str
    folder: str
    name: str

    def file(self, table: str) -> str:
        """Return the address of a table's file."""
        return f"{self.base}/{table}/{self.folder}/{self.name}"

    def read(self, table: str, *columns: str, of: Sequence[str] | None = None) -> pa.Table:
        """Return rows of a table, in all or some columns, of all trials or of those from the first to the last of."""
        system, path = _located(self.file(table))
        told = None if of is None else (pc.field("trial") >= of[0]) & (pc.field("trial") <= of[-1])
        return pq.read_table(
            path, columns=list(columns) or None, filesystem=system, filters=told, partitioning=None
        )

    def groups(self) -> Iterator[Mapping[str, pl.DataFrame]]:
        """Yield table -> rows of :data:`READ`, for some trials after others."""
        rows = Counter[str]()
        for table in READ:
            counts = pc.value_counts(self.read(table, "trial")["trial"])
            rows.update({each["values"]: each["counts"] for each in counts.to_pylist()})
        for trials in _groups(rows):
            yield {
                table: pl.DataFrame(self.read(table, "trial", *columns, of=trials))
                for table, columns in READ.items()
            }


def buckets(base: str, only: Collection[str] | None = None) -> list[Bucket]:
    """Return the buckets of the tables at ``base``: all, or those of the parts whose folders are ``only``.

    Raises UsageError if there are none, if a table is missing, or if its columns differ because another version packed
    it.
    """
    system, path = _located(base)
    selector = fs.FileSelector(f"{path}/trials", recursive=True, allow_not_found=True)
    files = [
        file.path.rsplit("/", 2)[1:]
        for file in system.get_file_info(selector)
        if file.is_file and file.extension == "parquet"
    ]
    if not files:
        raise UsageError(
            "not-a-table", "{path} is not a packed table: {why}", path=f"{base}/trials", why="it has no rows"
        )
    found = [Bucket(base, folder, name) for folder, name in sorted(files) if only is None or folder in only]
    for bucket in found:
        for table in all_tables():
            _check(bucket, table)
    return found


def _groups(rows: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield trials in the order of their names, as many as have :data:`ROWS_AT_A_TIME` together."""
    group, count = list[str](), 0
    for trial in sorted(rows, key=str.encode):
        if group and count + rows[trial] > ROWS_AT_A_TIME:
            yield group
            group, count = [], 0
        group.append(trial)
        count += rows[trial]
    if group:
        yield group


def _check(bucket: Bucket, table: str) -> None:
    wanted = arrow_schema(all_tables()[table])
    system, path = _located(file := bucket.file(table))
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
