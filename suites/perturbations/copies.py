"""Records that are in the log more than once because the client sent them again without a reason."""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import DURABLE
from suites.perturbations.batches import replaced, sent_once_more, several, spots
from suites.perturbations.exchanges import Spot, calm, request_of, settled
from suites.perturbations.perturbation import channels
from suites.perturbations.relaying import NEW

DUPLICATES = ("duplicate", "unexplained-duplicate")
#: Longer than any latency that faults add.
LONG_NS = 2_000 * NS_PER_MS
EVERYWHERE = channels("frames", "log", "history")


def _sent_at_once_again(evidence: Evidence, spot: Spot) -> Evidence:
    batch = settled(evidence)[spot]
    return sent_once_more(evidence, batch.records, batch)


def _sent_after_ack(evidence: Evidence, place: tuple[Spot, Spot]) -> Evidence:
    first, later = (settled(evidence)[spot] for spot in place)
    return sent_once_more(evidence, first.records, later)


def _acked_before(evidence: Evidence) -> list[tuple[Spot, Spot]]:
    """Return each batch with the first of its partition that was sent long after all its records were acknowledged.

    The distance is so long that no latency can have delayed the request since before.
    """
    batches = settled(evidence)
    found = []
    for spot, batch in batches.items():
        since_ns = max(send.complete_ns or 0 for send in batch.sends) + LONG_NS
        later = (other for other in batches if other[0] == spot[0] and other > spot)
        other = next((each for each in later if request_of(evidence, batches[each]).t_ns > since_ns), None)
        if other is not None:
            found.append((spot, other))
    return found


def _one_record_again(evidence: Evidence, place: tuple[Spot, Spot]) -> Evidence:
    """Make the first record of a batch also the last of the next one."""
    first, later = (settled(evidence)[spot] for spot in place)
    again = changed(
        first.records[0],
        offset=NEW,
        producer_id=later.records[0].producer_id,
        producer_epoch=later.records[0].producer_epoch,
    )
    return replaced(evidence, {later.spot: (*later.records, again)})


def _twice_in_batch(evidence: Evidence, spot: Spot) -> Evidence:
    records = settled(evidence)[spot].records
    at = len(records) // 2
    return replaced(
        evidence, {spot: (*records[: at + 1], changed(records[at], offset=NEW), *records[at + 1 :])}
    )


def _other_partitions(evidence: Evidence) -> list[tuple[Spot, Spot]]:
    """Return a batch and one of another partition that was sent after it was acknowledged."""
    batches = list(settled(evidence).values())
    found = []
    for one in batches[:: max(1, len(batches) // 20)]:
        acked_ns = max(send.complete_ns or 0 for send in one.sends) + LONG_NS
        other = next(
            (
                each
                for each in batches
                if each.partition != one.partition and request_of(evidence, each).t_ns > acked_ns
            ),
            None,
        )
        if other is not None:
            found.append((one.spot, other.spot))
    return found


def _everything_again(evidence: Evidence, spot: Spot) -> Evidence:
    """Send every previously acknowledged batch of the partition again, after the last one."""
    batches = settled(evidence)
    last = batches[spot]
    records = [
        record
        for each, batch in batches.items()
        if each[0] == spot[0] and each <= spot
        for record in batch.records
    ]
    return sent_once_more(evidence, records[:100], last)


def _in_calm(evidence: Evidence) -> list[Spot]:
    return list(calm(evidence))


PERTURBATIONS = (
    Perturbation(
        "sent-after-ack",
        EVERYWHERE,
        "sends a batch again after it has acknowledged its records",
        DUPLICATES,
        _acked_before,
        _sent_after_ack,
        guarantees=DURABLE,
    ),
    Perturbation(
        "sent-twice-in-peace",
        EVERYWHERE,
        "sends a batch twice, one request right after the other, while nothing fails",
        DUPLICATES,
        _in_calm,
        _sent_at_once_again,
        guarantees=DURABLE,
    ),
    Perturbation(
        "record-sent-again",
        EVERYWHERE,
        "puts a record that it has acknowledged into a later batch as well",
        DUPLICATES,
        _acked_before,
        _one_record_again,
        guarantees=DURABLE,
    ),
    Perturbation(
        "twice-in-batch",
        EVERYWHERE,
        "puts a record into its batch twice",
        DUPLICATES,
        spots(several),
        _twice_in_batch,
        guarantees=DURABLE,
    ),
    Perturbation(
        "sent-to-another-partition",
        EVERYWHERE,
        "sends an acknowledged batch again, to another partition",
        (*DUPLICATES, "batch-moved", "record-moved", "key-moved"),
        _other_partitions,
        _sent_after_ack,
        guarantees=DURABLE,
    ),
    Perturbation(
        "everything-again",
        EVERYWHERE,
        "restarts and sends up to a hundred acknowledged records of a partition again",
        DUPLICATES,
        lambda evidence: [other for _, other in _acked_before(evidence)],
        _everything_again,
        guarantees=DURABLE,
    ),
)
