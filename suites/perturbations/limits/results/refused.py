"""The limits of the excuses for a refused batch: too large, or not the next in sequence."""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome, Verdict
from suites.analysis.promises import EXACTLY_ONCE
from suites.perturbations.batches import answered_with, numbered, pair, several
from suites.perturbations.edits import ended, with_frames_added, with_parts, with_results
from suites.perturbations.exchanges import Batch, Spot, answer_to, asked, layout, request_of, settled
from suites.perturbations.limits.results.afterwards import (
    APART_MS,
    WIRE,
    Pair,
    has_limits,
    keyed,
    limit,
    quick,
    waited,
    with_fault,
)
from suites.perturbations.limits.scene import refusal
from suites.perturbations.relaying import relaid

#: MESSAGE_TOO_LARGE, and OUT_OF_ORDER_SEQUENCE_NUMBER.
TOO_LARGE, OUT_OF_ORDER = 10, 45


def _refused(evidence: Evidence, spot: Spot, code: int, after_ms: int, base: int = 0) -> Evidence:
    """A batch is refused and not stored, and its records fail ``after_ms`` later. ``base`` is added to its sequence."""
    batch = settled(evidence)[spot]
    exchange, sent = batch.exchange, asked(evidence, batch.exchange)
    other = changed(sent, base_sequence=(sent.base_sequence or 0) + base)
    told = answered_with(with_parts(evidence, {(exchange.request, exchange.part): other}), exchange, code)
    kept = [records for records in layout(evidence)[spot[0]] if records[0].base_offset != spot[1]]
    gone = relaid(told, {spot[0]: kept})
    at_ns = answer_to(evidence, batch).t_ns + after_ms * NS_PER_MS
    ends = [ended(send, at_ns, "RefusedException", Outcome.FAIL) for send in batch.sends]
    return with_results(waited(gone, 2 * APART_MS), ends)


def _too_large_long_ago(evidence: Evidence, spot: Spot) -> Evidence:
    return _refused(evidence, spot, TOO_LARGE, APART_MS)


def _others_too(evidence: Evidence, place: Pair) -> Evidence:
    """A batch of another partition fails at the same time as the one that was too large."""
    first, other = (settled(evidence)[spot] for spot in place)
    at_ns = answer_to(evidence, first).t_ns + NS_PER_MS
    gone = _refused(evidence, first.spot, TOO_LARGE, 1)
    ends = [ended(gone.operations[send.n], at_ns, "RefusedException") for send in other.sends]
    return with_results(gone, ends)


def _with_others(evidence: Evidence) -> list[Pair]:
    """Return pairs of a batch and one of another partition.

    The second was handed over before the answer to the first, and answered later.
    """
    batches = settled(evidence)
    found: list[Pair] = []
    for spot in quick()(evidence):
        at_ns = answer_to(evidence, batches[spot]).t_ns
        for other in batches.values():
            called = all(send.invoke_ns < at_ns for send in other.sends)
            if other.partition != spot[0] and called and answer_to(evidence, other).t_ns >= at_ns:
                found.append((spot, other.spot))
                break
    return found


def _another_too_large(evidence: Evidence, place: Pair) -> Evidence:
    """A batch is stored and reported as unknown. One of another partition is sent again and refused for its size."""
    first, other = (settled(evidence)[spot] for spot in place)
    part = asked(evidence, other.exchange)
    frames = pair(
        evidence, request_of(evidence, other), answer_to(evidence, other), part, refusal(part, TOO_LARGE)
    )
    ends = [ended(send, send.complete_ns or 0, "RecordTooLargeException") for send in first.sends]
    return with_frames_added(with_results(evidence, ends), frames)


def _several_numbered(evidence: Evidence, batch: Batch) -> bool:
    return numbered(evidence, batch) and several(evidence, batch)


def _not_next(evidence: Evidence, spot: Spot) -> Evidence:
    return _refused(evidence, spot, OUT_OF_ORDER, 1, base=1)


def _forgotten(evidence: Evidence, place: Pair) -> Evidence:
    """A batch that was answered in order is sent again after a later one, refused, and reported as unknown."""
    first, later = (settled(evidence)[spot] for spot in place)
    request, answer, part = (
        request_of(evidence, later),
        answer_to(evidence, later),
        asked(evidence, first.exchange),
    )
    frames = pair(evidence, request, answer, part, refusal(part, OUT_OF_ORDER))
    ends = [ended(send, answer.t_ns + NS_PER_MS, "OutOfOrderException") for send in first.sends]
    return with_frames_added(with_results(evidence, ends), frames)


def _numbered_before(evidence: Evidence) -> list[Pair]:
    """Return pairs of a numbered batch and a later one of its partition, answered within a second of each other."""
    batches = settled(evidence)
    spots = quick(numbered)(evidence)
    return [
        (spot, other)
        for spot, other in pairwise(spots)
        if spot[0] == other[0]
        and answer_to(evidence, batches[other]).t_ns - answer_to(evidence, batches[spot]).t_ns
        < 1_000 * NS_PER_MS
    ]


def _unsplit(evidence: Evidence, place: Pair) -> Evidence:
    """A batch of several records is too large and fails as a whole.

    A single record was too large under another limit.
    """
    large, single = (settled(evidence)[spot] for spot in place)
    at_ns = request_of(evidence, single).t_ns
    part = changed(asked(evidence, single.exchange), records=1, crc=1)
    frames = pair(
        evidence,
        request_of(evidence, single),
        answer_to(evidence, single),
        part,
        refusal(part, TOO_LARGE),
        -1,
    )
    gone = _refused(evidence, large.spot, TOO_LARGE, 1)
    end_ns = answer_to(evidence, single).t_ns + NS_PER_MS
    limited = with_fault(gone, at_ns - NS_PER_MS, end_ns, kind="message_size_limit")
    return with_frames_added(limited, frames)


def _under_two_limits(evidence: Evidence) -> list[Pair]:
    """Return pairs of a batch of several records and one of another partition that was in flight at another time."""
    batches = settled(evidence)
    found: list[Pair] = []
    for spot, batch in batches.items():
        at_ns = answer_to(evidence, batch).t_ns
        for other in batches.values():
            begin_ns = request_of(evidence, other).t_ns - 2 * NS_PER_MS
            is_apart = not begin_ns <= at_ns <= answer_to(evidence, other).t_ns + 2 * NS_PER_MS
            if other.partition != spot[0] and is_apart and several(evidence, batch):
                found.append((spot, other.spot))
                break
    return found if has_limits(evidence) and keyed(evidence) else []


PERTURBATIONS = (
    limit(
        "gave-up-long-after-too-large",
        "gives up records more than a second after a batch with as many records was refused for its size",
        _too_large_long_ago,
        quick(),
        changes=WIRE,
    ),
    limit(
        "gave-up-beside-too-large",
        "gives up a batch, because one of another partition was refused for its size",
        _others_too,
        _with_others,
        changes=WIRE,
    ),
    limit(
        "gave-up-stored-beside-too-large",
        "reports an answered batch as unknown, when another one is refused for its size",
        _another_too_large,
        _with_others,
        changes=("history", "frames"),
    ),
    limit(
        "gave-up-over-its-own-gap",
        "skips a sequence number, which the broker refuses, and gives up the batch",
        _not_next,
        quick(_several_numbered),
        ("gave-up", "sequence-gap"),
        WIRE,
        guarantees=EXACTLY_ONCE,
    ),
    limit(
        "gave-up-over-a-forgotten-batch",
        "sends a batch again that was answered in order, and gives it up when the broker does not recognize it",
        _forgotten,
        _numbered_before,
        changes=("history", "frames"),
        guarantees=EXACTLY_ONCE,
    ),
    limit(
        "oversized-under-another-limit",
        "lets a batch that is too large fail, when a single record was too large under another limit",
        _unsplit,
        _under_two_limits,
        ("oversized-batch-not-split",),
        (*WIRE, "faults"),
        Verdict.DIFFERS,
    ),
)
