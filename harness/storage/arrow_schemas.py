"""The Arrow schemas of the tables of packed evidence. Readers of tables need nothing else of the storage."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from harness.model.rows import SCHEMA_VERSION
from harness.plugins.workload import Columns
from harness.storage.parquet_schema import all_tables

ARROW_TYPES: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "bool": pa.bool_(),
    "longs": pa.list_(pa.int64()),
}


def arrow_schema(columns: Columns) -> pa.Schema:
    """Return the Arrow schema of one table of columns, with the schema version in its metadata."""
    fields = [
        pa.field(name, ARROW_TYPES[kind.removesuffix("?")], nullable=kind.endswith("?"))
        for name, kind in columns.items()
    ]
    return pa.schema(fields, metadata={"kafka_trial.schema_version": str(SCHEMA_VERSION)})


def schemas() -> dict[str, pa.Schema]:
    """Return the Arrow schema of every table."""
    return {table: arrow_schema(columns) for table, columns in all_tables().items()}
