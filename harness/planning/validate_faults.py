"""Check a schedule before anything runs: its fault kinds, their parameters, and whether its triggers can occur."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.spec import AtTime, FaultSpec, OnClientEvent, OnFrame, OnPhase, TrialSpec, Trigger
from harness.model.verdicts import Outcome
from harness.planning import validate_frames
from harness.plugins.registry import fault, workload
from harness.trial.script import CATCH_UP_MS

#: What a client reports about a record: that it is about to send it, and the result.
TOLD = ("invoke", *(outcome.value for outcome in Outcome))
#: There are no faults in ``heal`` and ``final``.
PHASES = ("startup", "load")
#: One hour, which is more than any trial takes.
LONGEST_MS = 3_600_000
#: Scenarios are made for three brokers. On fewer, a fault of a broker that does not exist hits nothing, and the verdict
#: says so.
MADE_FOR = 3


def check(trials: Iterable[TrialSpec], mode: Mode) -> None:
    """Raise UsageError for the first fault that cannot be injected in ``mode``."""
    for spec in trials:
        for each in spec.faults:
            _check(each, spec, mode)


def _check(spec: FaultSpec, trial: TrialSpec, mode: Mode) -> None:
    kind = fault(spec.kind)
    if mode not in kind.modes:
        raise UsageError(
            "fault-not-in-mode",
            "fault {fault!r} does not exist in {mode} mode",
            fault=spec.kind,
            mode=mode,
        )
    kind.check(spec, mode)
    _within(0, LONGEST_MS, spec, duration_ms=spec.duration_ms)
    for trigger in (spec.start, spec.until):
        _check_trigger(trigger, spec, trial)
    _check_start(spec, trial)
    _check_until(spec)
    _check_brokers(spec, trial)
    validate_frames.check_key(spec, trial)
    if spec.frames is not None:
        validate_frames.check_match(spec.frames, spec, trial)
        _within(1, None, spec, first=spec.frames.first, count=spec.frames.count)


def _check_trigger(trigger: Trigger | None, spec: FaultSpec, trial: TrialSpec) -> None:
    match trigger:
        case AtTime():
            _within(0, LONGEST_MS, spec, ms=trigger.ms)
        case OnFrame():
            validate_frames.check_frames(trigger, spec, trial)
            _check_requests(trigger, spec, trial)
        case OnClientEvent():
            validate_frames.one_of(TOLD, trigger.what, f"event of a client, for fault {spec.kind!r}")
            _check_told(trigger, spec, trial)
        case OnPhase():
            validate_frames.one_of(PHASES, trigger.phase, f"phase with faults, for fault {spec.kind!r}")
    if isinstance(trigger, OnFrame | OnClientEvent):
        _within(1, None, spec, nth=trigger.nth)
        _within(0, LONGEST_MS, spec, after_ms=trigger.after_ms)


def _check_told(trigger: OnClientEvent, spec: FaultSpec, trial: TrialSpec) -> None:
    load = trial.workload
    # The records of the warm-up have their results before load begins, unless a fault began before them.
    early = any(each.start == OnPhase("startup") for each in trial.faults)
    records = load.records - (0 if early else load.warm_up)
    if trigger.nth > records:
        raise UsageError(
            "fault-record-beyond-load",
            "fault {fault!r} waits for record {nth} of the load, which has {records} after its warm-up",
            fault=spec.kind,
            nth=trigger.nth,
            records=records,
        )


def _check_requests(trigger: OnFrame, spec: FaultSpec, trial: TrialSpec) -> None:
    """Raise UsageError for a request that the user's own load is too small to need."""
    load = trial.workload
    records = load.records - load.warm_up
    if load.load is not None and trigger.api == workload(load.kind).api and trigger.nth > records:
        raise UsageError(
            "fault-request-beyond-load",
            "fault {fault!r} waits for {api} {nth} of the load, which has {records:record} after its warm-up",
            fault=spec.kind,
            api=trigger.api,
            nth=trigger.nth,
            records=records,
        )


def _check_start(spec: FaultSpec, trial: TrialSpec) -> None:
    """Raise UsageError for a start after the load, when no other fault lasts and nothing is left to catch up with."""
    load_ms = trial.workload.load_ms
    others = [each.duration_ms for each in trial.faults if each is not spec]
    left_ms = load_ms + (CATCH_UP_MS + sum(others) if others else 0)
    if earliest_ms(spec.start) >= max(left_ms, 1):
        raise UsageError(
            "fault-starts-after-load",
            "fault {fault!r} would start {earliest_ms} ms into a load of {load_ms} ms: let it "
            "start within the load",
            fault=spec.kind,
            earliest_ms=earliest_ms(spec.start),
            load_ms=load_ms,
        )


def _check_until(spec: FaultSpec) -> None:
    match spec.until:
        case OnPhase() if spec.until.phase == "startup" or spec.start != OnPhase("startup"):
            raise UsageError(
                "fault-ends-before-phase",
                "fault {fault!r} cannot end with the beginning of {phase!r}: it has not begun by then",
                fault=spec.kind,
                phase=spec.until.phase,
            )
        case AtTime() if spec.until.ms < earliest_ms(spec.start):
            raise UsageError(
                "fault-ends-before-start",
                "fault {fault!r} would end at {ms} ms of load, before its start at {earliest_ms} ms or later",
                fault=spec.kind,
                ms=spec.until.ms,
                earliest_ms=earliest_ms(spec.start),
            )


def earliest_ms(trigger: Trigger) -> int:
    """Return the earliest moment of the load, in milliseconds, at which the trigger can occur."""
    match trigger:
        case AtTime():
            return trigger.ms
        case OnFrame() | OnClientEvent():
            return trigger.after_ms
    return 0


def _check_brokers(spec: FaultSpec, trial: TrialSpec) -> None:
    _, cross, nodes = trial.broker.rpartition("x")
    last = max(int(nodes) if cross and nodes.isdecimal() else 1, MADE_FOR)
    for broker in spec.brokers:
        if not 1 <= broker <= last:
            raise UsageError(
                "fault-broker-range",
                "fault {fault!r} names broker {broker}; on {cluster} it can name 1 to {last}",
                fault=spec.kind,
                broker=broker,
                cluster=trial.broker,
                last=last,
            )


def _within(low: int, high: int | None, spec: FaultSpec, **values: int) -> None:
    for name, value in values.items():
        if value < low:
            raise UsageError(
                "fault-value-too-low",
                "{name} of fault {fault!r} must be {low} or more, not {value}",
                name=name,
                fault=spec.kind,
                low=low,
                value=value,
            )
        if high is not None and value > high:
            raise UsageError(
                "fault-value-too-high",
                "{name} of fault {fault!r} must be {high} or less, not {value}",
                name=name,
                fault=spec.kind,
                high=high,
                value=value,
            )
