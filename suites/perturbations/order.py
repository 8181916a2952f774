"""Acknowledged records that the client sent, or stored, in another order than they were handed over."""

from __future__ import annotations

from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import AT_LEAST_ONCE, DURABLE, EVERY, EXACTLY_ONCE, exactly_once
from suites.perturbations.batches import delayed, followers, replaced, sent_later, several, spots
from suites.perturbations.exchanges import Batch, Spot, answer_to, calm, in_calm, layout, settled
from suites.perturbations.perturbation import channels, once
from suites.perturbations.relaying import relaid

REORDERED = ("reordered", "unexplained-reorder")
AVOIDABLE = (*REORDERED, "avoidable-reorder")
EVERYWHERE = channels("frames", "log", "history")


def _all_reversed(evidence: Evidence, _: str) -> Evidence:
    return relaid(evidence, {partition: batches[::-1] for partition, batches in layout(evidence).items()})


def _can_be_reversed(evidence: Evidence) -> bool:
    return len(settled(evidence)) > 1 and any(len(batches) > 1 for batches in layout(evidence).values())


def _swapped_records(evidence: Evidence, spot: Spot) -> Evidence:
    records = list(settled(evidence)[spot].records)
    at = (len(records) - 1) // 2
    records[at], records[at + 1] = records[at + 1], records[at]
    return replaced(evidence, {spot: records})


def _reversed_batch(evidence: Evidence, spot: Spot) -> Evidence:
    return replaced(evidence, {spot: settled(evidence)[spot].records[::-1]})


def _overtaken(evidence: Evidence, place: tuple[Spot, Spot]) -> Evidence:
    batches = settled(evidence)
    return sent_later(evidence, batches[place[0]], batches[place[1]])


def _record_overtaken(evidence: Evidence, place: tuple[Spot, Spot]) -> Evidence:
    """Put the first record of a batch at the end of the next one."""
    first, later = (settled(evidence)[spot] for spot in place)
    moved = replaced(
        evidence, {first.spot: first.records[1:], later.spot: (*later.records, first.records[0])}
    )
    return delayed(moved, first.sends[:1], answer_to(evidence, later).t_ns - answer_to(evidence, first).t_ns)


def _bound(evidence: Evidence, batch: Batch) -> bool:
    """True if order is promised in any case, or nothing failed."""
    return several(evidence, batch) and (exactly_once(evidence) or in_calm(evidence, batch))


def _excused(evidence: Evidence, batch: Batch) -> bool:
    """True if something failed, and the client promises only that nothing is lost."""
    return several(evidence, batch) and not exactly_once(evidence) and not in_calm(evidence, batch)


def _pairs(evidence: Evidence) -> list[tuple[Spot, Spot]]:
    return followers(evidence, settled(evidence))


def _calm_pairs(evidence: Evidence) -> list[tuple[Spot, Spot]]:
    return followers(evidence, calm(evidence))


def _long_pairs(evidence: Evidence) -> list[tuple[Spot, Spot]]:
    batches = calm(evidence)
    return [place for place in followers(evidence, batches) if len(batches[place[0]].records) > 1]


PERTURBATIONS = (
    Perturbation(
        "log-reversed",
        EVERYWHERE,
        "stores all batches of each partition in reverse order",
        REORDERED,
        once(_can_be_reversed),
        _all_reversed,
        guarantees=DURABLE,
    ),
    Perturbation(
        "swapped-in-batch",
        EVERYWHERE,
        "swaps two records inside a batch",
        REORDERED,
        spots(_bound),
        _swapped_records,
        guarantees=EVERY,
    ),
    Perturbation(
        "swapped-in-batch-beside-faults",
        EVERYWHERE,
        "swaps two records inside a batch, while another attempt on its path fails",
        AVOIDABLE,
        spots(_excused),
        _swapped_records,
        Verdict.DIFFERS,
        AT_LEAST_ONCE,
    ),
    Perturbation(
        "batch-reversed",
        EVERYWHERE,
        "puts the records of a batch into it in reverse order",
        REORDERED,
        spots(_bound),
        _reversed_batch,
        guarantees=EVERY,
    ),
    Perturbation(
        "overtaken-exactly-once",
        EVERYWHERE,
        "sends a batch after the next one of its partition, although it promises order",
        REORDERED,
        _pairs,
        _overtaken,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "overtaken-in-peace",
        EVERYWHERE,
        "sends a batch after the next one of its partition, while nothing fails",
        REORDERED,
        _calm_pairs,
        _overtaken,
        guarantees=EVERY,
    ),
    Perturbation(
        "record-overtaken-in-peace",
        EVERYWHERE,
        "puts a record into the batch after its own, while nothing fails",
        REORDERED,
        _long_pairs,
        _record_overtaken,
        guarantees=EVERY,
    ),
)
