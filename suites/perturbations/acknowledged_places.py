"""Acknowledgements that name a wrong place or none, and results at another time than they happened."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence, Operation
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import DURABLE
from suites.perturbations.batches import several, spots
from suites.perturbations.edits import with_results
from suites.perturbations.exchanges import Batch, Spot, settled
from suites.perturbations.perturbation import channels, once

HISTORY = channels("history")


def _told(change: Callable[[Batch, Operation], Operation]) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation that changes the acknowledgement of the middle record of a batch."""

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        batch = settled(evidence)[spot]
        return with_results(evidence, [change(batch, batch.sends[len(batch.sends) // 2])])

    return apply


def _placed(_: Evidence, batch: Batch) -> bool:
    """True if the client reports places at all."""
    return all(send.offset >= 0 for send in batch.sends)


def _several_placed(evidence: Evidence, batch: Batch) -> bool:
    return several(evidence, batch) and _placed(evidence, batch)


def _one_for_all(evidence: Evidence, spot: Spot) -> Evidence:
    batch = settled(evidence)[spot]
    return with_results(evidence, [changed(send, offset=batch.sends[0].offset) for send in batch.sends])


def _without(evidence: Evidence, _: str) -> Evidence:
    return with_results(evidence, [changed(send, offset=-1) for send in evidence.acknowledged.values()])


def _zero(evidence: Evidence, _: str) -> Evidence:
    return with_results(evidence, [changed(send, offset=0) for send in evidence.acknowledged.values()])


def _gives_places(evidence: Evidence) -> bool:
    acked = evidence.acknowledged.values()
    return len(acked) > 1 and all(send.offset >= 0 for send in acked)


def _from_one(evidence: Evidence, _: str) -> Evidence:
    return with_results(
        evidence, [changed(send, offset=send.offset + 1) for send in evidence.acknowledged.values()]
    )


PERTURBATIONS = (
    Perturbation(
        "ack-without-offset",
        HISTORY,
        "acknowledges all records without an offset, although it asks for acknowledgements",
        ("offset-missing",),
        once(_gives_places),
        _without,
        Verdict.DIFFERS,
        DURABLE,
    ),
    Perturbation(
        "ack-with-offset-zero",
        HISTORY,
        "acknowledges every record at offset 0",
        ("corrupted",),
        once(_gives_places),
        _zero,
    ),
    Perturbation(
        "ack-counted-from-one",
        HISTORY,
        "acknowledges every record one offset too high",
        ("corrupted",),
        once(_gives_places),
        _from_one,
    ),
    Perturbation(
        "wrong-offset",
        HISTORY,
        "acknowledges a record at another offset",
        ("corrupted",),
        spots(_placed),
        _told(lambda batch, send: changed(send, offset=send.offset + 1_000)),
    ),
    Perturbation(
        "wrong-partition",
        HISTORY,
        "acknowledges a record in another partition",
        ("corrupted",),
        spots(_placed),
        _told(lambda batch, send: changed(send, partition=send.partition + 1)),
    ),
    Perturbation(
        "two-at-one-place",
        HISTORY,
        "acknowledges two records of a batch with the same place",
        ("corrupted",),
        spots(_several_placed),
        _told(lambda batch, send: changed(send, offset=send.offset - 1)),
    ),
    Perturbation(
        "one-offset-for-a-batch",
        HISTORY,
        "acknowledges all records of a batch at its base offset",
        ("corrupted",),
        spots(_several_placed),
        _one_for_all,
    ),
)
