"""The shards of a plan: which part each run has, and whether several runs are parts of one plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from harness.model.errors import UsageError
from harness.model.spec import Plan, TrialSpec
from harness.planning import typed_settings
from harness.storage.run_store import RunRecord, ShardOf

#: What all shards of a plan have in common: in words, and as it is in the record.
_COMMON = (
    ("format", lambda record: record.schema_version),
    ("version of kafka-trial", lambda record: record.environment.get("kafka-trial")),
    ("number of shards", lambda record: record.shard.of),
    ("plan", lambda record: (record.shard.plan, record.shard.trials, record.plan.seed)),
    ("list of known failures", lambda record: record.baseline),
    ("list of thresholds", lambda record: record.thresholds),
    ("--deflake", lambda record: record.deflake),
    ("--capture", lambda record: record.capture),
)


def of(plan: Plan, number: int, count: int) -> ShardOf:
    """Return what a run stores about itself that has shard ``number`` of ``count`` of ``plan``."""
    return ShardOf(number, count, len(plan.trials), digest(plan))


def digest(plan: Plan) -> str:
    """Return the SHA-256 of a plan as it is stored."""
    return sha256(msgspec.json.encode(typed_settings.stored_plan(plan))).hexdigest()


def by_number(runs: Mapping[Path, RunRecord]) -> dict[int, Path]:
    """Return the runs by the number of their shard. The same run is taken once.

    Raise UsageError unless each is another shard of the same plan, made by the same version.
    """
    found: dict[int, Path] = {}
    first: Path | None = None
    for path, record in runs.items():
        _assert_shard(path, record)
        if first is None:
            first = path
        for what, value in _COMMON:
            if value(record) != value(runs[first]):
                raise UsageError(
                    "shards-differ",
                    "{path} and {other} cannot be merged: they differ in the {what}",
                    path=path,
                    other=first,
                    what=what,
                )
        assert record.shard is not None
        other = found.setdefault(record.shard.number, path)
        if runs[other].run_id != record.run_id:
            raise UsageError(
                "shard-twice",
                "{path} and {other} are two runs of shard {number}",
                hint="name one of them",
                path=path,
                other=other,
                number=record.shard.number,
            )
    return dict(sorted(found.items()))


def _assert_shard(path: Path, record: RunRecord) -> None:
    shard = record.shard
    if shard is None:
        raise UsageError(
            "not-a-shard",
            "{path} is not a shard: it was not made with --shard",
            hint="kafka-trial run ... --shard 1/2, and --shard 2/2 with the same options, make two shards",
            path=path,
        )
    if not 1 <= shard.number <= shard.of or len(record.plan.trials) < _planned(shard):
        raise UsageError(
            "shard-not-valid", "{path} is not the shard that its {file} names", path=path, file="run.json"
        )


def joined(records: Mapping[int, RunRecord]) -> Plan:
    """Return the plan of which these are the shards: its trials in their order, then those that were repeated.

    Raise UsageError if all shards are there and are not the plan that they name, or a trial is in two of them.
    """
    planned: dict[int, TrialSpec] = {}
    again: list[TrialSpec] = []
    for number, record in records.items():
        assert record.shard is not None
        count = _planned(record.shard)
        for index, spec in enumerate(record.plan.trials[:count]):
            planned[index * record.shard.of + number - 1] = spec
        again += record.plan.trials[count:]
    [seed, *_] = (record.plan.seed for record in records.values())
    [shard, *_] = (record.shard for record in records.values())
    assert shard is not None
    whole = Plan(seed, tuple(planned[place] for place in sorted(planned)))
    names = [spec.trial for spec in (*whole.trials, *again)]
    complete = len(records) == shard.of
    if len(set(names)) != len(names) or (complete and digest(whole) != shard.plan):
        raise UsageError("shards-not-the-plan", "the shards do not make up the plan that they name")
    return Plan(seed, (*whole.trials, *again))


def missing(records: Mapping[int, RunRecord]) -> Sequence[int]:
    """Return the numbers of the shards that are not there."""
    [shard, *_] = (record.shard for record in records.values())
    assert shard is not None
    return [number for number in range(1, shard.of + 1) if number not in records]


def _planned(shard: ShardOf) -> int:
    """Return how many trials of the plan the shard has."""
    return len(range(shard.number - 1, shard.trials, shard.of))
