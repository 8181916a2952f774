"""Shared code for the limits of results: a trial that continues after its last result, and batches that end there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from harness.model.contract import Stats
from harness.model.evidence import Evidence, view
from harness.model.rows import FaultRow
from harness.model.spec import AtTime, FaultSpec
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import DURABLE
from suites.perturbations.edits import with_spec
from suites.perturbations.exchanges import Batch, Spot, answer_to, settled
from suites.perturbations.pauses import paused
from suites.perturbations.perturbation import channels

DELIVERY, MAX_BLOCK, RETRIES = "delivery.timeout.ms", "max.block.ms", "retries"
EXPIRED = "TimeoutException"
#: More than the tolerance of any check for clocks and rounding.
APART_MS = 1_300
GAVE_UP = ("gave-up",)
WIRE = ("history", "frames", "log")
Pair = tuple[Spot, Spot]


def setting_ms(evidence: Evidence, setting: str) -> int:
    """Return the planned value of a setting."""
    return int(evidence.record.spec.config[setting])


def has_limits(evidence: Evidence) -> bool:
    """True if delivery.timeout.ms, of at most a minute, limits all attempts, and the end of the trial is calm."""
    config, not_set = evidence.record.spec.config, evidence.record.not_set
    unlimited = int(config.get(RETRIES, 2**31 - 1)) == 2**31 - 1 and _is_over(evidence)
    return (
        unlimited
        and DELIVERY not in not_set
        and RETRIES not in not_set
        and setting_ms(evidence, DELIVERY) <= 60_000
    )


@view
def last_ns(evidence: Evidence) -> int:
    """Return the time after the last result and the last answer."""
    told = (send.complete_ns or 0 for send in evidence.operations.values())
    frames = (frame.t_ns for frame in evidence.frames if frame.api == "Produce")
    return max((*told, *frames), default=0) + 1


def _is_over(evidence: Evidence) -> bool:
    """True if every fault ended before the last result, and no rule of the witness has touched a frame."""
    ends = (row.effective_ns[1] for row in evidence.faults if row.effective_ns is not None)
    touched = any(frame.fault or frame.disposition for frame in (*evidence.frames, *evidence.blocked_frames))
    return not touched and max(ends, default=0) < last_ns(evidence)


def waited(evidence: Evidence, for_ms: int) -> Evidence:
    """The trial continues for ``for_ms`` after the last result, and nothing happens."""
    return paused(evidence, last_ns(evidence), for_ms * NS_PER_MS)


def with_fault(
    evidence: Evidence, begin_ns: int, end_ns: int, brokers: tuple[int, ...] = (), kind: str = "refuse"
) -> Evidence:
    """Return the evidence with one more fault, at these brokers, or at all if none are given."""
    start = AtTime(max(0, (begin_ns - (evidence.record.phases.load_ns or 0)) // NS_PER_MS))
    spec = FaultSpec(kind, start, (end_ns - begin_ns) // NS_PER_MS, {}, brokers)
    row = FaultRow(len(evidence.faults), spec, (begin_ns, end_ns), (begin_ns, end_ns), 1)
    planned = with_spec(evidence, faults=(*evidence.record.spec.faults, spec))
    return replace(planned, faults=(*planned.faults, row))


def keyed(evidence: Evidence) -> bool:
    """True if records have keys, so that a failed record has a known partition."""
    return evidence.record.spec.workload.keys > 0


def _took_little(evidence: Evidence, batch: Batch) -> bool:
    """True if no call can have blocked for long."""
    took_ns = answer_to(evidence, batch).t_ns - min(send.invoke_ns for send in batch.sends)
    return took_ns < setting_ms(evidence, MAX_BLOCK) * NS_PER_MS // 2


def quick(
    holds: Callable[[Evidence, Batch], bool] = lambda _, __: True,
) -> Callable[[Evidence], list[Spot]]:
    """Return a function that finds settled batches whose calls did not block for long.

    The client must have limits, and records must have keys.
    """

    def places(evidence: Evidence) -> list[Spot]:
        if not has_limits(evidence) or not keyed(evidence):
            return []
        batches = settled(evidence).items()
        return [spot for spot, batch in batches if _took_little(evidence, batch) and holds(evidence, batch)]

    return places


def successive(evidence: Evidence) -> list[Pair]:
    """Return pairs of a settled batch and the next one of its partition, for a client with limits."""
    of: dict[int, list[Batch]] = {}
    for batch in settled(evidence).values():
        of.setdefault(batch.partition, []).append(batch)
    limits = has_limits(evidence) and keyed(evidence)
    return [(one.spot, two.spot) for each in of.values() for one, two in pairwise(each) if limits]


def beats(evidence: Evidence) -> bool:
    """True if the client sends heartbeats."""
    return any(isinstance(event, Stats) for event in evidence.history)


def limit(
    name: str,
    defect: str,
    apply: Callable[[Evidence, Pair], Evidence] | Callable[[Evidence, Spot], Evidence],
    places: Callable[[Evidence], Sequence[object]],
    caught_by: tuple[str, ...] = GAVE_UP,
    changes: tuple[str, ...] = ("history",),
    verdict: Verdict = Verdict.FAIL,
    guarantees: frozenset[Guarantee] = DURABLE,
) -> Perturbation:
    """Return a perturbation of results. ``changes`` are its channels."""
    return Perturbation(name, channels(*changes), defect, caught_by, places, apply, verdict, guarantees)
