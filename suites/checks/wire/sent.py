"""Batches as they were sent: each partition of each Produce request, with the answer that passed back to the client.

A request that a rule of the witness stopped counts, because the client sent it. An answer does not count if
it was stopped, if it arrived after the client had closed the connection, or if it has another correlation id.

``variants`` groups the batches of an idempotent producer by their sequence. Batches with the same sequence
and CRC are one variant. Two variants are a batch that was encoded again, or two different batches. The
content of a variant is known only if it is in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from harness.model.evidence import Evidence, view
from harness.model.rows import Frame, FrameKind, ProducePart
from harness.wire.error_table import BY_NAME, error_for
from suites.analysis.attempts import CLIENT, PRODUCE
from suites.analysis.excuses import grants

TOO_LARGE = BY_NAME["MESSAGE_TOO_LARGE"].code
#: A broker answers with these errors if it cannot place a batch. It may have stored an earlier attempt, but
#: not this one.
OUT_OF_PLACE = frozenset({BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code, BY_NAME["UNKNOWN_PRODUCER_ID"].code})


class Sent(msgspec.Struct, frozen=True, gc=False):
    """One partition of a Produce request. ``answer`` is the response that passed back, ``answered`` its part of it."""

    frame: Frame
    part: ProducePart
    answer: Frame | None = None
    answered: ProducePart | None = None

    @property
    def asked_ns(self) -> int:
        """When the request arrived at the witness. The client had sent it by then."""
        return self.frame.arrived_ns

    @property
    def error_code(self) -> int | None:
        """The error of the answer. None if no answer passed."""
        return None if self.answered is None else self.answered.error_code

    def is_refused_by(self, at_ns: int) -> bool:
        """True if an answer had passed by then that certainly means that this attempt was not stored."""
        code = self.error_code
        if self.answer is None or self.answer.t_ns > at_ns or not code:
            return False
        return code in OUT_OF_PLACE or error_for(code).produced == "definite"


class Chain(NamedTuple):
    """A sequence of batches with its own numbering: a partition, for one producer id and epoch."""

    topic: str
    partition: int
    producer_id: int
    epoch: int


class Variant(msgspec.Struct, frozen=True, gc=False):
    """Attempts with the same sequence, size and bytes, in order of time. ``end`` is the next sequence."""

    chain: Chain
    base: int
    records: int
    crc: int | None
    sent: tuple[Sent, ...]

    @property
    def end(self) -> int:
        return self.base + self.records

    @property
    def first_ns(self) -> int:
        return self.sent[0].asked_ns

    def is_too_large_at(self, at_ns: int) -> bool:
        """True if an answer had passed by then that refused the batch for its size.

        Its parts may reuse its sequences.
        """
        return any(
            each.error_code == TOO_LARGE and each.answer is not None and each.answer.t_ns <= at_ns
            for each in self.sent
        )

    def may_be_stored_at(self, at_ns: int) -> bool:
        """True if the batch may be in the log, given the answers that the client had by then."""
        return any(not each.is_refused_by(at_ns) for each in self.sent if each.asked_ns <= at_ns)


class Stored(NamedTuple):
    """A batch of the log: its base offset, and the numbers of its records (None for a record of another producer)."""

    base_offset: int
    numbers: tuple[int | None, ...]


@view
def sent(evidence: Evidence) -> list[Sent]:
    """Return all sent batches, in the order in which they arrived at the witness."""
    requests = [
        frame
        for frame in (*evidence.frames, *evidence.blocked_frames)
        if frame.kind is FrameKind.REQUEST and frame.api == PRODUCE
    ]
    answers: dict[tuple[int, int | None], list[Frame]] = {}
    closed_ns = {frame.conn: frame.t_ns for frame in evidence.frames if frame.closed_by == CLIENT}
    for frame in evidence.frames:
        is_heard = frame.t_ns <= closed_ns.get(frame.conn, frame.t_ns)
        if frame.kind is FrameKind.RESPONSE and frame.api == PRODUCE and is_heard:
            answers.setdefault((frame.conn, frame.correlation_id), []).append(frame)
    made = []
    for frame in sorted(requests, key=lambda frame: frame.arrived_ns):
        waiting = answers.get((frame.conn, frame.correlation_id))
        answer = waiting.pop(0) if waiting else None
        parts = {(part.topic, part.partition): part for part in answer.produce} if answer else {}
        made += [Sent(frame, part, answer, parts.get((part.topic, part.partition))) for part in frame.produce]
    return made


@view
@grants("higher-epoch")
def variants(evidence: Evidence) -> Mapping[Chain, list[Variant]]:
    """Return the batches with a sequence, by chain, in the order of their first attempts."""
    found: dict[tuple[Chain, int, int, int | None], list[Sent]] = {}
    for each in sent(evidence):
        part = each.part
        if is_numbered(part):
            chain = Chain(part.topic, part.partition, part.producer_id or 0, part.producer_epoch or 0)
            found.setdefault((chain, part.base_sequence or 0, part.records or 0, part.crc), []).append(each)
    chains: dict[Chain, list[Variant]] = {}
    for (chain, base, records, crc), attempts in found.items():
        chains.setdefault(chain, []).append(Variant(chain, base, records, crc, tuple(attempts)))
    return chains


@view
def stored(evidence: Evidence) -> Mapping[tuple[int, int | None], list[Stored]]:
    """Return the batches of the log, by partition and CRC."""
    batches: dict[tuple[int, int], tuple[int | None, list[int | None]]] = {}
    for record, n in zip(evidence.log, evidence.numbers, strict=True):
        if not record.control:
            place = (record.partition, record.base_offset)
            batches.setdefault(place, (record.batch_crc, []))[1].append(n)
    found: dict[tuple[int, int | None], list[Stored]] = {}
    for (partition, base_offset), (crc, numbers) in batches.items():
        if crc is not None:
            found.setdefault((partition, crc), []).append(Stored(base_offset, tuple(numbers)))
    return found


def is_numbered(part: ProducePart) -> bool:
    """True if the batch has a producer id, an epoch and a sequence."""
    return all(
        number is not None and number >= 0
        for number in (part.producer_id, part.producer_epoch, part.base_sequence, part.records)
    )
