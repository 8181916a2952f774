"""What a trial whose clients consume cannot have, and what only such a trial can have. Pure."""

from __future__ import annotations

from typing import Final

from harness.limits.meter import TEXT_CHARS
from harness.model.errors import UsageError
from harness.model.spec import FaultSpec, OnPhase, TrialSpec
from harness.plugins import registry

MOST_COMPANIONS: Final = 4


def check(spec: TrialSpec) -> None:
    """Raise UsageError for a load that a group cannot report, or a fault that needs a group and has none.

    A member reports the value of each record in full, so that a changed one is noticed.
    """
    load = spec.workload
    on_members = [each for each in spec.faults if _has(each, "of_members")]
    if registry.workload(load.kind).members is None:
        for fault in (*on_members, *(each for each in spec.faults if _has(each, "loses_records"))):
            raise UsageError(
                "fault-without-group",
                "fault {fault!r} acts on members of a group, and the clients of trial {trial!r} produce",
                fault=fault.kind,
                trial=spec.trial,
            )
        if spec.companions:
            raise UsageError(
                "companions-without-group",
                "trial {trial!r} has companions in a group, and its clients produce",
                trial=spec.trial,
            )
        return
    if len(spec.companions) > MOST_COMPANIONS or spec.client in spec.companions:
        raise UsageError(
            "companions-refused",
            "a trial has at most {most} companions, none of which is the client under test; see trial {trial!r}",
            most=MOST_COMPANIONS,
            trial=spec.trial,
        )
    for fault in on_members:
        if fault.start == OnPhase("startup") and not _has(fault, "before_members"):
            raise UsageError(
                "fault-before-group",
                "fault {fault!r} acts on members of a group, so it cannot start before they do",
                fault=fault.kind,
            )
    if load.shape.is_split:
        raise UsageError(
            "group-with-split-load",
            "the load of trial {trial!r} has several producers or topics, but its clients consume",
            trial=spec.trial,
        )
    if load.largest_bytes > (most := TEXT_CHARS.base):
        raise UsageError(
            "records-too-large-to-report",
            "the values of trial {trial!r} have up to {largest:character}; a consumer reports at most {most:,}",
            trial=spec.trial,
            largest=load.largest_bytes,
            most=most,
        )


def _has(fault: FaultSpec, flag: str) -> bool:
    """Return whether a fault's kind declares this of itself."""
    return bool(getattr(registry.fault(fault.kind), flag, False))
