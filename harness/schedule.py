"""A schedule is checked before anything runs: its kinds, their parameters, triggers that can come."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import UsageError, unknown
from harness.outcome import Outcome
from harness.registry import fault
from harness.spec import ClientTold, Elapsed, FaultSpec, FrameMatch, FrameSeen, PhaseBegan, TrialSpec, Trigger
from harness.wire.apis import Api, api_name

APIS = {api_name(api) for api in Api}
DIRECTIONS = ("request", "response")
#: What a client tells of a record: that it is about to send it, and how that ended.
TOLD = ("invoke", *(outcome.value for outcome in Outcome))
#: In ``heal`` and ``final`` there are no faults.
PHASES = ("startup", "load")


def check(trials: Iterable[TrialSpec], world: str) -> None:
    """Raise UsageError for the first fault that cannot be carried out in ``world`` ("live" or "simulated")."""
    for spec in trials:
        for each in spec.faults:
            _check(each, spec, world)


def _check(spec: FaultSpec, trial: TrialSpec, world: str) -> None:
    kind = fault(spec.kind)
    if world not in kind.worlds:
        raise UsageError(f"fault {spec.kind!r} does not exist in the {world} world")
    kind.check(spec, world)
    _at_least(0, spec, duration_ms=spec.duration_ms)
    for trigger in (spec.start, spec.until):
        _check_trigger(trigger, spec, trial)
    if spec.frames is not None:
        _check_frames(spec.frames, spec, trial)
        _at_least(1, spec, first=spec.frames.first, count=spec.frames.count)


def _check_trigger(trigger: Trigger | None, spec: FaultSpec, trial: TrialSpec) -> None:
    match trigger:
        case Elapsed():
            _at_least(0, spec, ms=trigger.ms)
        case FrameSeen():
            _check_frames(trigger, spec, trial)
        case ClientTold():
            _one_of(TOLD, trigger.what, f"event of a client, for fault {spec.kind!r}")
        case PhaseBegan():
            _one_of(PHASES, trigger.phase, f"phase with faults, for fault {spec.kind!r}")
    if isinstance(trigger, FrameSeen | ClientTold):
        _at_least(1, spec, nth=trigger.nth)
        _at_least(0, spec, after_ms=trigger.after_ms)


def _check_frames(meant: FrameSeen | FrameMatch, spec: FaultSpec, trial: TrialSpec) -> None:
    _one_of(APIS, meant.api, f"API, for fault {spec.kind!r}")
    _one_of(DIRECTIONS, meant.direction, f"direction, for fault {spec.kind!r}")
    last = trial.workload.partitions - 1
    if meant.partition is not None and not 0 <= meant.partition <= last:
        raise UsageError(
            f"fault {spec.kind!r} names partition {meant.partition}, but those of the trial are 0 to {last}"
        )


def _one_of(known: Iterable[str], name: str, what: str) -> None:
    if name not in (names := list(known)):
        raise unknown(what, name, names)


def _at_least(least: int, spec: FaultSpec, **values: int) -> None:
    for name, value in values.items():
        if value < least:
            raise UsageError(f"{name} of fault {spec.kind!r} must be {least} or more, not {value}")
