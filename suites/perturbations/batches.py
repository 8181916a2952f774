"""Changes of whole batches: other records in a batch, a batch never sent, sent again, or sent late.

The request with a batch, its answer, the log and the acknowledgements always agree afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence, Operation
from harness.model.rows import Frame, LogRecord, ProducePart
from suites.perturbations.edits import inserted_id, with_frames_added, with_parts, with_results
from suites.perturbations.exchanges import (
    Batch,
    Exchange,
    Spot,
    answer_to,
    answered,
    asked,
    layout,
    request_of,
    settled,
)
from suites.perturbations.relaying import NEW, relaid

#: The distance between an inserted request and the one that it follows, and between their answers.
BEHIND_NS = 1_000

Records = Sequence[LogRecord]


def spots(
    holds: Callable[[Evidence, Batch], bool] = lambda _, batch: True,
) -> Callable[[Evidence], list[Spot]]:
    """Return a function that finds the settled batches for which ``holds``."""
    return lambda evidence: [spot for spot, batch in settled(evidence).items() if holds(evidence, batch)]


def several(_: Evidence, batch: Batch) -> bool:
    """True for a batch of more than one record."""
    return len(batch.records) > 1


def numbered(_: Evidence, batch: Batch) -> bool:
    """True for a batch with a producer id, and so with sequence numbers."""
    return batch.records[0].producer_id >= 0


def middle(batch: Batch) -> int:
    """Return the index of the record in the middle of a batch."""
    return len(batch.records) // 2


def other_crc(crc: int | None) -> int:
    """Return the checksum of a batch with other bytes. Only that it differs matters."""
    return ((crc or 0) + 1) % 2**32


def replaced(evidence: Evidence, contents: Mapping[Spot, Records]) -> Evidence:
    """Return the evidence in which these batches were sent with these records.

    A batch without records was never sent.
    """
    batches = settled(evidence)
    parts: dict[tuple[int, int], ProducePart | None] = {}
    fresh: dict[Spot, Records] = {}
    for spot, records in contents.items():
        exchange = batches[spot].exchange
        crc = other_crc(asked(evidence, exchange).crc)
        fresh[spot] = [changed(record, batch_crc=crc) for record in records]
        told = changed(asked(evidence, exchange), records=len(records), crc=crc) if records else None
        parts[exchange.request, exchange.part] = told
        if not records and exchange.answer is not None and exchange.answer_part is not None:
            parts[exchange.answer, exchange.answer_part] = None
    touched = {spot[0] for spot in contents}
    new_layout = {
        partition: [
            batch
            for records in layout(evidence)[partition]
            if (batch := fresh.get((partition, records[0].base_offset), records))
        ]
        for partition in touched
    }
    return relaid(with_parts(evidence, parts), new_layout)


def altered(evidence: Evidence, spot: Spot, index: int, **fields: Any) -> Evidence:
    """Return the evidence in which the client changed fields of one record when it put the record into its batch."""
    records = list(settled(evidence)[spot].records)
    records[index] = changed(records[index], **fields)
    return replaced(evidence, {spot: records})


def answered_with(evidence: Evidence, exchange: Exchange, code: int) -> Evidence:
    """Return the evidence in which this error was the answer of an exchange. The log stays as it is."""
    told = answered(evidence, exchange)
    assert told is not None and exchange.answer is not None and exchange.answer_part is not None
    error: ProducePart = changed(told, error_code=code, base_offset=-1)
    return with_parts(evidence, {(exchange.answer, exchange.answer_part): error})


def never_sent(evidence: Evidence, gone: Iterable[Spot]) -> Evidence:
    """Return the evidence in which the client never sent these batches but reported their records as before."""
    return replaced(evidence, dict.fromkeys(gone, ()))


def sent_once_more(evidence: Evidence, records: Records, behind: Batch, **fields: Any) -> Evidence:
    """Return the evidence in which these records were also sent right after the batch ``behind``, and stored after it.

    ``fields`` are other fields of the batch as it was sent.
    """
    partition, answer = behind.partition, answer_to(evidence, behind)
    fresh = [
        changed(
            record,
            offset=NEW,
            producer_id=behind.records[0].producer_id,
            producer_epoch=behind.records[0].producer_epoch,
            batch_crc=records[0].batch_crc,
        )
        for record in records
    ]
    batches = list(layout(evidence)[partition])
    at = batches.index(behind.records)
    moved = relaid(evidence, {partition: [*batches[: at + 1], fresh, *batches[at + 1 :]]})
    first = layout(moved)[partition][at + 1][0]
    sent = changed(
        asked(evidence, behind.exchange),
        records=len(records),
        crc=first.batch_crc,
        base_sequence=first.sequence,
        first_timestamp_ms=records[0].timestamp_ms,
        max_timestamp_ms=max(record.timestamp_ms for record in records),
        **fields,
    )
    told = ProducePart(sent.topic, partition, base_offset=first.base_offset, error_code=0)
    return with_frames_added(moved, pair(evidence, request_of(evidence, behind), answer, sent, told))


def pair(
    evidence: Evidence,
    request: Frame,
    answer: Frame,
    sent: ProducePart,
    told: ProducePart,
    by_ns: int = BEHIND_NS,
) -> tuple[Frame, Frame]:
    """Return a request right after ``request`` and its answer right after ``answer``, so that answers stay in order.

    If ``by_ns`` is below zero, they are placed right before.
    """
    own = {"correlation_id": inserted_id(evidence), "received_ns": None, "fault": None, "disposition": None}
    codes = (told.error_code,) if told.error_code else ()
    return (
        changed(request, t_ns=request.t_ns + by_ns, produce=(sent,), **own),
        changed(answer, t_ns=answer.t_ns + by_ns, produce=(told,), error_codes=codes, **own),
    )


def sent_later(evidence: Evidence, late: Batch, behind: Batch) -> Evidence:
    """Return the evidence in which ``late`` was sent right after ``behind``, a later batch of the same partition."""
    partition = late.partition
    batches = list(layout(evidence)[partition])
    batches.remove(late.records)
    batches.insert(batches.index(behind.records) + 1, late.records)
    moved = relaid(evidence, {partition: batches})
    exchange, answer = late.exchange, answer_to(evidence, behind)
    sent = asked(moved, exchange)
    told = moved.frames[exchange.answer or 0].produce[exchange.answer_part or 0]
    parts = {(exchange.request, exchange.part): None, (exchange.answer or 0, exchange.answer_part or 0): None}
    frames = pair(evidence, request_of(evidence, behind), answer, sent, told)
    by_ns = answer.t_ns + BEHIND_NS - answer_to(evidence, late).t_ns
    return delayed(with_frames_added(with_parts(moved, parts), frames), late.sends, by_ns)


def delayed(evidence: Evidence, sends: Iterable[Operation], by_ns: int) -> Evidence:
    """Return the evidence in which the results of these records are reported ``by_ns`` later."""
    now = (evidence.operations[send.n] for send in sends)
    return with_results(
        evidence,
        [changed(send, complete_ns=send.complete_ns + by_ns) for send in now if send.complete_ns is not None],
    )


def followers(evidence: Evidence, of: Mapping[Spot, Batch]) -> list[tuple[Spot, Spot]]:
    """Return pairs of consecutive batches of a partition that are in ``of`` and in different requests."""
    found = []
    for partition, batches in layout(evidence).items():
        known = [of.get((partition, records[0].base_offset)) for records in batches]
        for one, other in pairwise(known):
            if (
                one
                and other
                and one.exchange.request != other.exchange.request
                and _is_later(evidence, one, other)
            ):
                found.append((one.spot, other.spot))
    return found


def _is_later(evidence: Evidence, one: Batch, other: Batch) -> bool:
    return answer_to(evidence, one).t_ns < answer_to(evidence, other).t_ns
