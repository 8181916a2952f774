"""Pack a run: the folders of its finished trials become one Parquet data set per table, for Spark.

A *part* is a set of trials that were packed together. Its trials are in buckets, one file per table and bucket: all
rows of a trial are in the files of one bucket, so that Spark judges a bucket without any other. Packing a run again
keeps the parts whose trials have not changed, and packs only the others. Whether a trial has changed is decided by the
content of its files, and kept files are only used if this user's key signed their list (:mod:`harness.storage.kept`).

Within a bucket trials are processed one at a time, in the order of their names, so the largest trial limits memory. A
row group has the same trials in each table of the bucket, so that a reader takes one after the other without searching.
Packing is deterministic (the same folders give the same bytes) and replaces the previous tables in one rename: a run
has all of its tables or none. The columns are those of :mod:`harness.storage.parquet_schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from harness import files
from harness.model.anomaly_row import AnomalyRow, Finder
from harness.model.errors import KafkaTrialError
from harness.model.evidence import Evidence
from harness.model.rows import Ending, TrialVerdict
from harness.plugins import registry
from harness.plugins.workload import ColumnData, PackedTrial, Table
from harness.storage import kept
from harness.storage import unreadable as spoiled
from harness.storage.arrow_schemas import schemas
from harness.storage.kept import Kept
from harness.storage.parquet_rows import COLUMNS
from harness.storage.parquet_schema import all_tables
from harness.storage.run_store import RunStore
from harness.system.own_packages import PREFIX
from harness.system.workers import Work, in_this_process

TABLES_FOLDER = "tables"
#: The number of trials for which a further bucket is worth its files and its task.
TRIALS_PER_BUCKET = 64
#: More parts than this are packed again as one: each part has files of its own.
MOST_PARTS = 12
#: Several trials share a row group up to this number of rows in all tables together.
ROWS_PER_GROUP = 100_000
PARTS = "parts.json"

_NO_FINDERS: Mapping[str, Finder] = MappingProxyType({})


class Part(msgspec.Struct, frozen=True):
    """Trials that were packed together: each with the digest of its files; the unreadable ones with the reason."""

    number: int
    buckets: int
    trials: dict[str, str]
    spoiled: dict[str, str] = {}

    def file(self, table: str, bucket: int) -> str:
        """Return the path of one file below the tables."""
        return f"{table}/{self.folder}/rows_{bucket:05}.parquet"

    @property
    def folder(self) -> str:
        return f"part-{self.number:03}"

    @property
    def names(self) -> list[str]:
        return [self.file(table, bucket) for table in all_tables() for bucket in range(self.buckets)]


class Packed(NamedTuple):
    """The path of the tables, ``runs/<run>/tables``, the trials packed as harness-errors with the reason, the parts.

    ``verdicts``: those of the packed trials, in the plan's order. A run may have finished further trials since.
    """

    folder: Path
    spoiled: Mapping[str, str]
    parts: Sequence[Part]
    verdicts: Sequence[TrialVerdict]


class _Bucket(NamedTuple):
    """What one process packs."""

    store: RunStore
    folder: Path
    part: Part
    bucket: int
    verdicts: Sequence[TrialVerdict]
    finders: Mapping[str, Finder]


def pack(store: RunStore, finders: Mapping[str, Finder] = _NO_FINDERS) -> Packed:
    """Pack every finished trial of ``store``. See :func:`packed`."""
    with packed(store, finders) as tables:
        pass
    return tables._replace(folder=store.folder / TABLES_FOLDER)


@contextmanager
def packed(
    store: RunStore,
    finders: Mapping[str, Finder] = _NO_FINDERS,
    work: Work = in_this_process,
    begun: Callable[[], object] = lambda: None,
) -> Iterator[Packed]:
    """Yield the tables of every finished trial of ``store``. At the end of the block they become ``runs/<run>/tables``.

    Until then no other process replaces them. ``finders``: kind of anomaly -> a function that finds those unknown to
    :mod:`harness.workloads.produce.accounting`. A trial whose files are not valid evidence, or whose rows do not fit
    the columns, is packed as a harness-error. ``work`` calls a function for each bucket. ``begun`` is called, perhaps
    twice, before new trials are packed, if there are any. Raise EnvironmentProblem if the folder cannot be written.
    """
    with files.built(store.folder / TABLES_FOLDER, store.folder) as folder:
        verdicts, parts = _write(store, folder, finders, work, begun)
        told = {trial: why for part in parts for trial, why in part.spoiled.items()}
        yield Packed(folder, told, parts, verdicts)
        kept.write(
            folder / PARTS, folder, _code(finders), {each.number: each for each in parts}, _names(parts)
        )


def _folders(folder: Path, part: Part) -> None:
    for table in all_tables():
        files.make_folder(folder / table / part.folder, folder)


def _names(parts: Iterable[Part]) -> list[str]:
    return [name for part in parts for name in part.names]


def _code(finders: Mapping[str, Finder]) -> str:
    """Return a digest of the code that determines the content of the tables."""
    made = [*finders.values(), *(kind.command for kind in registry.table("workloads").values())]
    others = {each.__module__.partition(".")[0] for each in made}
    return kept.code_digest(f"{PREFIX}harness", *sorted(others - {"harness"}))


def _write(
    store: RunStore, folder: Path, finders: Mapping[str, Finder], work: Work, begun: Callable[[], object]
) -> tuple[list[TrialVerdict], list[Part]]:
    """Write the tables: keep the parts that can stay, and pack the other trials as one more part."""
    known = kept.read(store.folder / TABLES_FOLDER / PARTS, store.folder, _code(finders), dict[int, Part])
    finished = [spec.trial for spec in store.record.plan.trials if store.finished(spec.trial)]
    packed_before = {trial for part in (known.about.values() if known else ()) for trial in part.trials}
    # Nearly always, this is known without a look at any trial's files.
    if not packed_before.issuperset(finished):
        begun()
    verdicts = {verdict.trial: verdict for verdict in store.verdicts()}
    digests = {trial: kept.folder_digest(store.trial_folder(trial), store.folder) for trial in verdicts}
    parts = _stay(known, folder, digests)
    done = {trial for part in parts for trial in part.trials}
    left = sorted(verdicts.keys() - done, key=str.encode)
    if left or not parts:
        begun()
        number = max((part.number for part in parts), default=-1) + 1
        told = [verdicts[trial] for trial in left]
        inside = [told[at : at + TRIALS_PER_BUCKET] for at in range(0, len(told), TRIALS_PER_BUCKET)] or [[]]
        part = Part(number, len(inside), {trial: digests[trial] for trial in left})
        _folders(folder, part)
        each = [_Bucket(store, folder, part, at, some, finders) for at, some in enumerate(inside)]
        spoilt = {trial: why for found in work(_packed, each) for trial, why in found.items()}
        parts.append(msgspec.structs.replace(part, spoiled=spoilt))
    return [*verdicts.values()], parts


def _stay(parts: Kept[dict[int, Part]] | None, folder: Path, digests: Mapping[str, str]) -> list[Part]:
    """Copy the parts of the present tables that can stay, and return them: all, or none if any trial changed."""
    if parts is None or len(parts.about) >= MOST_PARTS:
        return []
    known = {trial: digest for part in parts.about.values() for trial, digest in part.trials.items()}
    if any(digests.get(trial) != digest for trial, digest in known.items()):
        return []
    found = list(parts.about.values())
    for part in found:
        _folders(folder, part)
    return found if parts.copy(_names(found), folder) else []


def _packed(asked: _Bucket) -> dict[str, str]:
    """Write the files of one bucket. Return trial -> why its evidence could not be packed."""
    store, spoilt = asked.store, {}
    record = store.record
    specs = {spec.trial: spec for spec in record.plan.trials}
    shapes = {table: _Shape.of(schema) for table, schema in schemas().items()}
    with ExitStack() as stack:
        names = {table: asked.part.file(table, asked.bucket) for table in all_tables()}
        opened = {
            table: stack.enter_context(files.create(asked.folder / name)) for table, name in names.items()
        }
        rows = stack.enter_context(_Rows(opened, shapes))
        for verdict in asked.verdicts:
            try:
                evidence = store.read_evidence(verdict.trial, with_trace=False)
                trial = PackedTrial(
                    evidence.record.run_id, evidence, verdict, _found(evidence, asked.finders)
                )
                batches = _batches(trial, shapes)
            except Exception as error:
                spec, why = specs[verdict.trial], spoiled.why(error)
                spoilt[verdict.trial] = why
                left = spoiled.evidence(spec, record.run_id, why)
                left_over = PackedTrial(record.run_id, left, spoiled.verdict(spec, why), {})
                batches = _batches(left_over, shapes)
            rows.add(batches)
    return spoilt


class _Shape(NamedTuple):
    """The schema of a table, and its batch without rows: many tables of a trial have none."""

    schema: pa.Schema
    empty: pa.RecordBatch

    @classmethod
    def of(cls, schema: pa.Schema) -> _Shape:
        return cls(schema, pa.RecordBatch.from_pylist([], schema=schema))


class _Rows:
    """Writes the tables of one bucket, trial by trial. A row group has the same trials in each of them."""

    def __init__(self, opened: Mapping[str, object], shapes: Mapping[str, _Shape]) -> None:
        self._writers = {table: _writer(opened[table], shape.schema) for table, shape in shapes.items()}
        self._waiting, self._rows = list[Mapping[str, pa.RecordBatch]](), 0

    def __enter__(self) -> _Rows:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with ExitStack() as closed:
            for writer in self._writers.values():
                closed.callback(writer.close)
            if kind is None:
                self._flush()

    def add(self, batches: Mapping[str, pa.RecordBatch]) -> None:
        rows = sum(batch.num_rows for batch in batches.values())
        if self._rows + rows > ROWS_PER_GROUP:
            self._flush()
        self._waiting.append(batches)
        self._rows += rows

    def _flush(self) -> None:
        if self._waiting:
            for table, writer in self._writers.items():
                rows = pa.Table.from_batches([batches[table] for batches in self._waiting])
                writer.write_table(rows, max(1, rows.num_rows))
        self._waiting, self._rows = [], 0


def _writer(file: object, schema: pa.Schema) -> pq.ParquetWriter:
    """Return a writer that stores numbers as differences, which are small."""
    strings = [field.name for field in schema if not pa.types.is_int64(field.type)]
    numbers = [field.name for field in schema if pa.types.is_int64(field.type)]
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        use_dictionary=[name for name in strings if not pa.types.is_boolean(schema.field(name).type)],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
    )


def _batches(trial: PackedTrial, shapes: Mapping[str, _Shape]) -> dict[str, pa.RecordBatch]:
    own = registry.workload(trial.evidence.record.spec.workload.kind).tables
    return {table: _batch(table, shape, trial, own) for table, shape in shapes.items()}


def _found(evidence: Evidence, finders: Mapping[str, Finder]) -> dict[str, Iterable[AnomalyRow]]:
    if evidence.record.ending is not Ending.COMPLETE:
        return {}
    if evidence.record.spec.workload.shape.is_split:
        return {}
    told = {kind: find(evidence) for kind, find in finders.items()}
    return {kind: found for kind, found in told.items() if found is not None}


def _batch(table: str, shape: _Shape, trial: PackedTrial, own: Mapping[str, Table]) -> pa.RecordBatch:
    made = own[table].rows if table in own else COLUMNS.get(table)
    columns: ColumnData = {name: [] for name in shape.schema.names}
    if made is not None:  # The tables of other workloads do not apply.
        columns |= made(trial)
    rows = max(map(len, columns.values()))
    if not rows:
        return shape.empty
    columns["trial"] = pa.repeat(trial.verdict.trial, rows)
    try:
        return pa.RecordBatch.from_pydict(columns, schema=shape.schema)
    except (ValueError, TypeError, OverflowError) as error:
        raise KafkaTrialError(
            "rows-do-not-fit",
            "the {table} of trial {trial} do not fit their columns: {why}",
            table=table,
            trial=trial.verdict.trial,
            why=error,
        ) from error
