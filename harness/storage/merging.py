"""Merge the runs of a plan's shards into one run. The runs may come from other machines, and are not trusted.

The merged run is built beside its final place and then moved there. The same shards give the same run, so merging
again replaces it; any other folder stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from harness import files
from harness.files.row_files import looking, write_json
from harness.model.errors import UsageError
from harness.model.path_names import folder_name
from harness.model.run_files import RUN
from harness.planning import typed_settings
from harness.storage import shards
from harness.storage.run_store import RunRecord, RunStore

#: The reason why a run ended that ended as planned.
COMPLETED = "completed"
_HINT = "name a new folder with --out"


def merge(runs: Sequence[Path], final: Path) -> RunStore:
    """Write the merged run of these shards to ``final`` and return it. ``merged`` in its record has their run ids.

    Raise UsageError if they are not shards of one plan, one of their files is not what it should be, or ``final`` is
    taken. Raise EnvironmentProblem if it cannot be written.
    """
    stores = {store.folder: store for store in map(RunStore.open, runs)}
    records = {path: store.record for path, store in stores.items()}
    numbered = {number: stores[path] for number, path in shards.by_number(records).items()}
    record = merged_record(
        folder_name(final.absolute().name, "run"), {n: records[s.folder] for n, s in numbered.items()}
    )

    def may_replace(path: Path) -> None:
        _assert_free(path, record.merged)

    may_replace(final)
    with ExitStack() as held:
        for store in numbered.values():
            held.enter_context(store.claimed())
        building = held.enter_context(files.built(final, may_replace=may_replace, hint=_HINT))
        into = RunStore(building)
        for store in numbered.values():
            _copy_trials(store, into)
        write_json(building / RUN, replace(record, plan=typed_settings.stored_plan(record.plan)), building)
    return RunStore(final)


def merged_record(name: str, records: Mapping[int, RunRecord]) -> RunRecord:
    """Return the record of the run that these shards make, by their numbers."""
    each = list(records.values())
    ids = tuple(record.run_id for record in each)
    left_out = tuple(dict.fromkeys(client for record in each for client in record.left_out))
    return RunRecord(
        run_id=name,
        started_utc=min(record.started_utc for record in each),
        plan=shards.joined(records),
        jobs=max(record.jobs for record in each),
        environment=each[0].environment,
        command=["kafka-trial", "merge", *ids],
        stop_reason=_reason(records),
        capture=each[0].capture,
        baseline=each[0].baseline,
        deflake=each[0].deflake,
        thresholds=each[0].thresholds,
        left_out=left_out,
        level=each[0].level,
        merged=ids,
    )


def _reason(records: Mapping[int, RunRecord]) -> str:
    """Return why the run ended: ``completed`` if all shards are there and were completed."""
    lacking = [f"shard {number} is missing" for number in shards.missing(records)]
    ended = [
        f"shard {number}: {record.stop_reason or 'not ended'}"
        for number, record in records.items()
        if record.stop_reason != COMPLETED
    ]
    return "; ".join((*lacking, *ended)) or COMPLETED


def _copy_trials(store: RunStore, into: RunStore) -> None:
    """Copy the files of the finished trials. Links, pipes and folders among them are left out."""
    for spec in store.record.plan.trials:
        if not store.finished(spec.trial):
            continue
        source = store.trial_folder(spec.trial)
        target = into.make_folder(into.trial_folder(spec.trial))
        with looking(source):
            for name in files.names(source, store.folder):
                if not name.startswith("."):
                    files.write_whole(target / name, files.read_stored(source / name, store.folder))


def _assert_free(final: Path, merged: Sequence[str]) -> None:
    """Raise UsageError unless ``final`` is missing, empty, or a run that was merged from the same shards."""
    with looking(final):
        for parent in final.absolute().parents:
            if files.present(parent / RUN):
                raise UsageError(
                    "merge-inside-run",
                    "{path} is inside the run {parent}",
                    hint=_HINT,
                    path=final,
                    parent=parent,
                )
        if not files.present(final) or (
            final.is_dir() and not final.is_symlink() and not any(final.iterdir())
        ):
            return
    if final.is_symlink() or not final.is_dir() or RunStore.open(final).record.merged != tuple(merged):
        raise UsageError(
            "merge-place-taken",
            "{path} already exists, and was not merged from these shards",
            hint=_HINT,
            path=final,
        )
