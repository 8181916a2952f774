"""Load packed tables, from any path that Arrow's file systems support.

Each part of the tables is a set of tables of its own, in buckets: all rows of some trials are in one file of each
table. So a bucket can be judged without any other, and Spark moves no row. A bucket is read by row groups, which have
the same trials in each table and a limited number of rows, so the largest trial limits memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from harness.model.errors import UsageError
from harness.storage.arrow_schemas import arrow_schema
from harness.storage.parquet_schema import all_tables

#: The tables and columns that the second judgement reads. All have the column ``trial``.
READ: Mapping[str, Sequence[str]] = {
    "trials": (
        "run", "topic", "workload", "producers", "counted", "explains", "guarantee", "request_timeout_ms", "linger_ms",
        "load_api", "load_ns", "final_ns", "end_ns",
    ),
    "operations": ("n", "producer", "topic", "outcome", "invoke_ns", "complete_ns", "partition", "offset"),
    "log_records": (
        "topic", "partition", "offset", "base_offset", "timestamp_ms", "key", "intact", "control",
        "producer_id", "producer_epoch", "sequence", "batch_crc",
        "identity_run", "identity_trial", "identity_producer", "identity_n", "value_bytes",
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
    "group_anomalies": ("kind", "n", "partition", "offset", "detail"),
    "written_records": ("n", "invoke_ns"),
    "members": ("member", "companion"),
    "deliveries": (
        "event", "member", "partition", "offset", "polled_ns", "processed_ns", "intact", "value_bytes",
        "identity_run", "identity_trial", "identity_producer", "identity_n",
    ),
    "ownership_events": ("event", "mono_ns", "member", "what", "partition", "generation"),
    "commits": (
        "event", "mono_ns", "member", "partition", "offset", "success", "how", "invoke_ns",
    ),
    "stored_offsets": ("partition", "offset"),
    "transaction_records": ("partition", "offset", "committed"),
    "aside_records": (
        "partition", "offset", "intact", "value_bytes",
        "identity_run", "identity_trial", "identity_producer", "identity_n",
    ),
    "readers": ("isolation",),
}  # fmt: skip


@dataclass(frozen=True)
class Bucket:
    """One file of each table at ``base``."""

    base: str
    folder: str
    name: str

    def file(self, table: str) -> str:
        """Return the address of a table's file."""
        return f"{self.base}/{table}/{self.folder}/{self.name}"

    def read(self, table: str) -> pa.Table:
        """Return all rows of a table."""
        system, path = _located(self.file(table))
        return pq.read_table(path, filesystem=system, partitioning=None)

    def groups(self) -> Iterator[Mapping[str, pl.DataFrame]]:
        """Yield table -> rows of :data:`READ`, for some trials after others."""
        with ExitStack() as stack:
            opened = {table: stack.enter_context(self._opened(table)) for table in READ}
            for group in range(opened["trials"].num_row_groups):
                yield {
                    table: _rows(opened[table], group, ["trial", *columns]) for table, columns in READ.items()
                }

    def _opened(self, table: str) -> pq.ParquetFile:
        system, path = _located(self.file(table))
        return pq.ParquetFile(path, filesystem=system)


def _rows(opened: pq.ParquetFile, group: int, columns: list[str]) -> pl.DataFrame:
    """Return a row group. Most tables of other workloads have no rows, and are not read."""
    if not opened.metadata.row_group(group).num_rows:
        return pl.DataFrame(opened.schema_arrow.empty_table().select(columns))
    return pl.DataFrame(opened.read_row_group(group, columns))


def buckets(base: str, only: Collection[str] | None = None) -> list[Bucket]:
    """Return the buckets of the tables at ``base``: all, or those of the parts whose folders are ``only``.

    Raises UsageError if there are none, if a table is missing or has other row groups, or if its columns differ because
    another version packed it.
    """
    system, path = _located(base)
    selector = fs.FileSelector(f"{path}/trials", recursive=True, allow_not_found=True)
    files = [
        file.path.rsplit("/", 2)[1:]
        for file in system.get_file_info(selector)
        if file.is_file and file.extension == "parquet"
    ]
    if not files:
        raise _not_a_table(f"{base}/trials", "it has no rows")
    found = [Bucket(base, folder, name) for folder, name in sorted(files) if only is None or folder in only]
    for bucket in found:
        groups = {table: _groups(bucket, table) for table in all_tables()}
        if odd := [table for table, number in groups.items() if number != groups["trials"]]:
            raise _not_a_table(bucket.file(odd[0]), "its row groups are not those of the table trials")
    return found


def _groups(bucket: Bucket, table: str) -> int:
    """Return the number of row groups of a table, if it has the right columns."""
    wanted = arrow_schema(all_tables()[table])
    system, path = _located(file := bucket.file(table))
    try:
        with pq.ParquetFile(path, filesystem=system) as opened:
            found, groups = opened.schema_arrow, int(opened.num_row_groups)
    except (OSError, pa.ArrowException) as error:
        raise _not_a_table(file, str(error).splitlines()[0]) from error
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
    return groups


def _not_a_table(path: str, why: str) -> UsageError:
    return UsageError("not-a-table", "{path} is not a packed table: {why}", path=path, why=why)


def _located(address: str) -> tuple[fs.FileSystem, str]:
    if "://" not in address:
        return fs.LocalFileSystem(), address
    system, path = fs.FileSystem.from_uri(address)
    return system, path
