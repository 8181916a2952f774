"""Records that the client acknowledged and that are not in the log, and acknowledgements that are too early."""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence, Operation
from harness.model.rows import FrameKind, ProducePart
from harness.model.units import NS_PER_MS
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import DURABLE, EXACTLY_ONCE
from suites.perturbations.batches import answered_with, never_sent, replaced, several, spots
from suites.perturbations.edits import with_parts, with_results
from suites.perturbations.exchanges import (
    Batch,
    Exchange,
    Spot,
    answer_to,
    answered,
    asked,
    exchanges,
    layout,
    number,
    request_of,
    settled,
)
from suites.perturbations.perturbation import channels, once
from suites.perturbations.relaying import relaid

NOT_LEADER, NOT_ENOUGH_REPLICAS_AFTER_APPEND = 6, 20
#: More than any check forgives between an answer and its result.
EARLY_NS = 20 * NS_PER_MS

WIRE_AND_LOG = channels("frames", "log", "history")


def _without_record(evidence: Evidence, spot: Spot, index: int) -> Evidence:
    records = settled(evidence)[spot].records
    return replaced(evidence, {spot: (*records[:index], *records[index + 1 :])})


def _lost_batch(evidence: Evidence, spot: Spot) -> Evidence:
    return never_sent(evidence, [spot])


def _tails(evidence: Evidence) -> dict[int, Spot]:
    last = {partition: batches[-1][0] for partition, batches in layout(evidence).items()}
    ends = {partition: (partition, record.base_offset) for partition, record in last.items()}
    return {partition: spot for partition, spot in ends.items() if spot in settled(evidence)}


def _lost_tails(evidence: Evidence, _: str) -> Evidence:
    return never_sent(evidence, _tails(evidence).values())


def _refused_and_forgotten(evidence: Evidence, spot: Spot) -> Evidence:
    """The answer is NOT_LEADER_OR_FOLLOWER. Nothing is stored or sent again, and all is acknowledged."""
    batch = settled(evidence)[spot]
    kept = [records for records in layout(evidence)[spot[0]] if records[0].base_offset != spot[1]]
    return relaid(answered_with(evidence, batch.exchange, NOT_LEADER), {spot[0]: kept})


def _retried(evidence: Evidence) -> list[tuple[Spot, Exchange]]:
    """Return batches whose first attempt had no answer, with the single later attempt that stored them."""
    by_bytes: dict[tuple[int, int | None], list[Exchange]] = {}
    for exchange in exchanges(evidence):
        part = asked(evidence, exchange)
        by_bytes.setdefault((part.partition, part.crc), []).append(exchange)
    found = []
    for same in by_bytes.values():
        told = [answered(evidence, exchange) for exchange in same]
        if len(same) == 2 and told[0] is None and told[1] is not None and not told[1].error_code:
            spot = (told[1].partition, told[1].base_offset or 0)
            if _records_at(evidence, spot):
                found.append((spot, same[1]))
    return found


def _records_at(evidence: Evidence, spot: Spot) -> tuple[Operation, ...]:
    """Return the client's results for the records of a batch, if each is in the log once and acknowledged."""
    for records in layout(evidence).get(spot[0], ()):
        if records[0].base_offset == spot[1]:
            numbers = [number(evidence, record) for record in records]
            sends = [evidence.acknowledged.get(n) for n in numbers if n is not None]
            once_each = all(n is not None and len(evidence.copies[n]) == 1 for n in numbers)
            if len(sends) == len(records) and once_each:
                return tuple([send for send in sends if send is not None])
    return ()


def _kept_from_broker(evidence: Evidence) -> list[Spot]:
    """Return batches whose first attempt a fault kept from the broker, and that were stored when sent again."""
    stopped = [frame for frame in evidence.blocked_frames if frame.kind is FrameKind.REQUEST]
    kept = {(part.partition, part.crc) for frame in stopped for part in frame.produce}
    return spots(lambda _, batch: (batch.partition, batch.records[0].batch_crc) in kept)(evidence)


def _acked_before_retry(evidence: Evidence, place: tuple[Spot, Exchange]) -> Evidence:
    """The results are reported before the retry that stored the batch, and never later than originally."""
    spot, exchange = place
    sent_ns = evidence.frames[exchange.request].t_ns - EARLY_NS
    told = [
        changed(send, complete_ns=max(send.invoke_ns + 1, min(sent_ns, send.complete_ns or sent_ns)))
        for send in _records_at(evidence, spot)
    ]
    return with_results(evidence, told)


def _waited(evidence: Evidence, batch: Batch) -> bool:
    """True if the answer came long enough after the call for an acknowledgement to be certainly early."""
    answered_ns = answer_to(evidence, batch).t_ns
    return any(answered_ns - send.invoke_ns >= 2 * EARLY_NS for send in batch.sends)


def _acked_when_sent(evidence: Evidence, spot: Spot) -> Evidence:
    batch = settled(evidence)[spot]
    by_ns = answer_to(evidence, batch).t_ns - EARLY_NS
    sent_ns = request_of(evidence, batch).t_ns
    early = [send for send in batch.sends if by_ns > send.invoke_ns]
    told = [changed(send, complete_ns=max(send.invoke_ns + 1, min(sent_ns, by_ns))) for send in early]
    return with_results(evidence, told)


def _acked_when_called(evidence: Evidence, spot: Spot) -> Evidence:
    batch = settled(evidence)[spot]
    return with_results(evidence, [changed(batch.sends[0], complete_ns=batch.sends[0].invoke_ns + 1)])


def _first_waited(evidence: Evidence, batch: Batch) -> bool:
    return answer_to(evidence, batch).t_ns - batch.sends[0].invoke_ns >= 2 * EARLY_NS


def _acked_though_refused(evidence: Evidence, spot: Spot) -> Evidence:
    return answered_with(evidence, settled(evidence)[spot].exchange, NOT_ENOUGH_REPLICAS_AFTER_APPEND)


def _sequence_of_another(evidence: Evidence) -> list[tuple[Spot, Spot]]:
    """Return a batch and a later one of its partition with as many records. A broker treats both as the same batch."""
    found = []
    batches = settled(evidence)
    for partition in layout(evidence):
        of_size: dict[int, Spot] = {}
        for spot, batch in batches.items():
            if spot[0] != partition or batch.records[0].producer_id < 0:
                continue
            if (size := len(batch.records)) in of_size:
                found.append((of_size[size], spot))
            of_size[size] = spot
    return found


def _reused_sequence(evidence: Evidence, place: tuple[Spot, Spot]) -> Evidence:
    """The broker takes the second batch for a repetition of the first, and answers with the first one's place."""
    first, second = (settled(evidence)[spot] for spot in place)
    reused = asked(evidence, first.exchange)
    exchange = second.exchange
    told = answered(evidence, exchange)
    assert told is not None and exchange.answer is not None and exchange.answer_part is not None
    kept = [records for records in layout(evidence)[second.partition] if records is not second.records]
    gone = relaid(evidence, {second.partition: kept})
    parts: dict[tuple[int, int], ProducePart | None] = {
        (exchange.request, exchange.part): changed(asked(gone, exchange), base_sequence=reused.base_sequence),
        (exchange.answer, exchange.answer_part): changed(told, base_offset=first.spot[1]),
    }
    acked = [
        changed(gone.operations[send.n], offset=first.spot[1] + at) for at, send in enumerate(second.sends)
    ]
    return with_results(with_parts(gone, parts), acked)


def _all(evidence: Evidence) -> bool:
    return len(_tails(evidence)) > 0


PERTURBATIONS = (
    Perturbation(
        "lost-record",
        WIRE_AND_LOG,
        "acknowledges a record that it left out of its batch",
        ("lost",),
        spots(several),
        lambda evidence, spot: _without_record(evidence, spot, len(settled(evidence)[spot].records) // 2),
        guarantees=DURABLE,
    ),
    Perturbation(
        "lost-end-of-batch",
        WIRE_AND_LOG,
        "acknowledges the last record of a batch, which it left out",
        ("lost",),
        spots(several),
        lambda evidence, spot: _without_record(evidence, spot, len(settled(evidence)[spot].records) - 1),
        guarantees=DURABLE,
    ),
    Perturbation(
        "lost-batch",
        WIRE_AND_LOG,
        "acknowledges a batch that it never sent",
        ("lost",),
        spots(),
        _lost_batch,
        guarantees=DURABLE,
    ),
    Perturbation(
        "lost-tail",
        WIRE_AND_LOG,
        "acknowledges the last batch of each partition on close, and never sends it",
        ("lost",),
        once(_all),
        _lost_tails,
        guarantees=DURABLE,
    ),
    Perturbation(
        "lost-after-refusal",
        WIRE_AND_LOG,
        "acknowledges a batch that the broker refused with NOT_LEADER_OR_FOLLOWER, and does not send it again",
        ("lost",),
        spots(),
        _refused_and_forgotten,
        guarantees=DURABLE,
    ),
    Perturbation(
        "lost-retry",
        WIRE_AND_LOG,
        "acknowledges a batch whose request never reached the broker, and does not send it again",
        ("lost",),
        _kept_from_broker,
        _lost_batch,
        guarantees=DURABLE,
    ),
    Perturbation(
        "sequence-of-another-batch",
        WIRE_AND_LOG,
        "gives a batch the sequence of an earlier one, so that the broker drops it as a duplicate",
        ("sequence-reused", "lost"),
        _sequence_of_another,
        _reused_sequence,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "ack-when-sent",
        channels("history"),
        "acknowledges a batch as soon as its request is written",
        ("early-ack",),
        spots(_waited),
        _acked_when_sent,
        guarantees=DURABLE,
    ),
    Perturbation(
        "ack-when-called",
        channels("history"),
        "acknowledges a record when it is handed over",
        ("early-ack",),
        spots(_first_waited),
        _acked_when_called,
        guarantees=DURABLE,
    ),
    Perturbation(
        "ack-before-retry",
        channels("history"),
        "acknowledges a batch when it gives up the unanswered request, before sending it again",
        ("early-ack",),
        lambda evidence: [
            place
            for place in _retried(evidence)
            if any(
                send.invoke_ns + EARLY_NS < evidence.frames[place[1].request].t_ns - EARLY_NS
                for send in _records_at(evidence, place[0])
            )
        ],
        _acked_before_retry,
        guarantees=DURABLE,
    ),
    Perturbation(
        "ack-of-refusal",
        channels("frames"),
        "takes the answer NOT_ENOUGH_REPLICAS_AFTER_APPEND for an acknowledgement",
        ("early-ack",),
        spots(),
        _acked_though_refused,
        guarantees=DURABLE,
    ),
)
