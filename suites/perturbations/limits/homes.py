"""The limits of the excuses for other partitions and for refused sequences: later growth, and time that is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, LogRecord
from harness.model.spec import AtTime, FaultSpec
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome, Verdict
from harness.plugins.perturbation import Perturbation, Place
from suites.analysis.findings import UNLIMITED
from suites.analysis.promises import EVERY, EXACTLY_ONCE
from suites.perturbations import copies, homes
from suites.perturbations.edits import with_frame, with_results, with_spec
from suites.perturbations.exchanges import Batch, Spot, answered, layout, request_of, settled
from suites.perturbations.limits.scene import refusal
from suites.perturbations.pauses import paused, quiet
from suites.perturbations.perturbation import channels

DELIVERY, RETRIES = "delivery.timeout.ms", "retries"
OUT_OF_ORDER = 45
REFUSED = "OutOfOrderSequenceException"
#: How much of its delivery timeout a record has left.
LEFT_MS = 2_000
#: A longer wait would make the trial too long.
LONGEST_MS = 60_000


def _grown_later(evidence: Evidence) -> Evidence:
    """The topic gets one more partition after everything else."""
    end_ns = max(event.mono_ns for event in evidence.history)
    window = end_ns + 1, end_ns + NS_PER_MS
    start = AtTime(max(0, (window[0] - (evidence.record.phases.load_ns or 0)) // NS_PER_MS))
    spec = FaultSpec("topic_growth", start, 1, {"partitions": 1})
    row = FaultRow(len(evidence.faults), spec, window, window, 1)
    planned = with_spec(evidence, faults=(*evidence.record.spec.faults, spec))
    return replace(planned, faults=(*planned.faults, row))


def _before_growth(of: Perturbation) -> Callable[[Evidence, Place], Evidence]:
    """Return a function that applies the perturbation and lets the topic grow afterwards."""
    return lambda evidence, place: _grown_later(of.apply(evidence, place))


def _named(kinds: Sequence[Perturbation], name: str) -> Perturbation:
    return next(kind for kind in kinds if kind.name == name)


def _has_time(evidence: Evidence) -> bool:
    config, not_set = evidence.record.spec.config, evidence.record.not_set
    is_limited = int(config.get(RETRIES, UNLIMITED)) < UNLIMITED
    return not is_limited and DELIVERY not in not_set and int(config[DELIVERY]) <= LONGEST_MS


def _last(evidence: Evidence) -> list[Spot]:
    """Return the last numbered batch of each partition, if it can wait before it is sent."""
    if not _has_time(evidence):
        return []
    known, moments = settled(evidence), set(quiet(evidence))
    lasts = [(partition, batches[-1][0].base_offset) for partition, batches in layout(evidence).items()]
    return [
        spot
        for spot in lasts
        if spot in known
        and known[spot].records[0].producer_id >= 0
        and _can_wait(known[spot], request_of(evidence, known[spot]).arrived_ns - 1, moments)
    ]


def _can_wait(batch: Batch, at_ns: int, moments: AbstractSet[int]) -> bool:
    """True if a pause is possible at that time and all of its records were handed over before."""
    return at_ns in moments and all(send.invoke_ns < at_ns for send in batch.sends)


def _fatal(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch waits until its records have two seconds left. Then a broker refuses it, and they fail at once."""
    batch = settled(evidence)[spot]
    at_ns = request_of(evidence, batch).arrived_ns - 1
    first_ns = min(send.invoke_ns for send in batch.sends)
    waited_ns = (int(evidence.record.spec.config[DELIVERY]) - LEFT_MS) * NS_PER_MS
    late = paused(evidence, at_ns, max(0, waited_ns - (at_ns - first_ns)))
    exchange = batch.exchange
    told = answered(late, exchange)
    at = exchange.answer or 0
    assert told is not None
    parts = [
        refusal(part, OUT_OF_ORDER) if index == exchange.answer_part else part
        for index, part in enumerate(late.frames[at].produce)
    ]
    refused = with_frame(late, at, produce=tuple(parts), error_codes=(OUT_OF_ORDER,))
    failed_ns = late.frames[at].t_ns + NS_PER_MS
    failed = [
        changed(send, complete_ns=failed_ns, outcome=Outcome.INFO, partition=-1, offset=-1, error=REFUSED)
        for send in batch.sends
    ]
    return with_results(replace(refused, log=_without(late, batch.records)), failed)


def _without(evidence: Evidence, records: Sequence[LogRecord]) -> tuple[LogRecord, ...]:
    gone = {(record.partition, record.offset) for record in records}
    return tuple([record for record in evidence.log if (record.partition, record.offset) not in gone])


MOVED = _named(homes.PERTURBATIONS, "keys-moved")
ELSEWHERE = _named(copies.PERTURBATIONS, "sent-to-another-partition")

PERTURBATIONS = (
    Perturbation(
        "keys-moved-before-growth",
        MOVED.channels | channels("faults"),
        "sends the records of every key to another partition, before the topic has more of them",
        ("key-moved",),
        MOVED.places,
        _before_growth(MOVED),
        Verdict.DIFFERS,
        EVERY,
    ),
    Perturbation(
        "sent-to-another-partition-before-growth",
        ELSEWHERE.channels | channels("faults"),
        "sends an acknowledged batch to another partition as well, before the topic has more of them",
        ("record-moved",),
        ELSEWHERE.places,
        _before_growth(ELSEWHERE),
        guarantees=ELSEWHERE.guarantees,
    ),
    Perturbation(
        "ended-over-refusal-with-time-left",
        channels("history", "frames", "log"),
        "fails records two seconds before their delivery timeout, because their sequence was refused although correct",
        ("sequence-not-recovered",),
        _last,
        _fatal,
        Verdict.DIFFERS,
        EXACTLY_ONCE,
    ),
)
