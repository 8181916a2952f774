"""Producer ids, epochs and sequences of a client that claims idempotence but does not provide it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import LogRecord, ProducePart
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import EXACTLY_ONCE
from suites.perturbations.batches import BEHIND_NS, pair, several, spots
from suites.perturbations.edits import with_frames, with_frames_added, with_parts
from suites.perturbations.exchanges import (
    Batch,
    Spot,
    answer_to,
    asked,
    exchanges,
    layout,
    request_of,
    settled,
)
from suites.perturbations.perturbation import channels, once

WIRE_AND_LOG = channels("frames", "log")
OUT_OF_ORDER, DUPLICATE_SEQUENCE, OLD_EPOCH = 45, 46, 47
#: Invented producer ids begin here.
INVENTED_ID = 1_000_000

Numbers = tuple[int, int, int]
"""Producer id, epoch, base sequence."""


def renumbered(evidence: Evidence, numbers: Callable[[int, ProducePart], Numbers | None]) -> Evidence:
    """Return the evidence in which batches have other numbers, on the wire and in the log.

    None leaves a batch unchanged.

    ``numbers`` is called with the request's index, and returns the same for attempts of one batch.
    """
    parts: dict[tuple[int, int], ProducePart | None] = {}
    of_batch: dict[tuple[int, int | None], Numbers] = {}
    for exchange in exchanges(evidence):
        part = asked(evidence, exchange)
        key = (part.partition, part.crc)
        new = of_batch.get(key) or numbers(exchange.request, part)
        if new is not None:
            of_batch[key] = new
            parts[exchange.request, exchange.part] = changed(
                part, producer_id=new[0], producer_epoch=new[1], base_sequence=new[2]
            )
    log = [
        record
        for batches in layout(evidence).values()
        for records in batches
        for record in _with_numbers(records, of_batch)
    ]
    return replace(with_parts(evidence, parts), log=tuple(log))


def _with_numbers(
    records: tuple[LogRecord, ...], of_batch: dict[tuple[int, int | None], Numbers]
) -> Iterator[LogRecord]:
    new = of_batch.get((records[0].partition, records[0].batch_crc))
    for at, record in enumerate(records):
        if new is None:
            yield record
        else:
            sequence = -1 if new[0] < 0 else new[2] + at
            yield changed(record, producer_id=new[0], producer_epoch=new[1], sequence=sequence)


def _none(evidence: Evidence, _: str) -> Evidence:
    """No producer id is requested, and none is sent."""
    without = with_frames(evidence, [frame for frame in evidence.frames if frame.api != "InitProducerId"])
    return renumbered(without, lambda _, __: (-1, -1, -1))


def _one_each(evidence: Evidence, _: str) -> Evidence:
    return renumbered(evidence, lambda request, _: (INVENTED_ID + request, 0, 0))


def _all_from_zero(evidence: Evidence, _: str) -> Evidence:
    return renumbered(evidence, lambda _, part: (part.producer_id or 0, part.producer_epoch or 0, 0))


def _one_without(evidence: Evidence, spot: Spot) -> Evidence:
    """One batch is sent without numbers, and later ones as if it had them."""
    crc = settled(evidence)[spot].records[0].batch_crc

    def numbers(_: int, part: ProducePart) -> Numbers | None:
        return (-1, -1, -1) if (part.partition, part.crc) == (spot[0], crc) else None

    return renumbered(evidence, numbers)


def _two_ids(evidence: Evidence, spot: Spot) -> Evidence:
    """From a batch on, its partition uses a producer id that no broker assigned."""
    batch = settled(evidence)[spot]
    first = asked(evidence, batch.exchange)

    def numbers(request: int, part: ProducePart) -> Numbers | None:
        if part.partition != spot[0] or (part.base_sequence or 0) < (first.base_sequence or 0):
            return None
        return INVENTED_ID, 0, (part.base_sequence or 0) - (first.base_sequence or 0)

    return renumbered(evidence, numbers)


def _higher_epoch(evidence: Evidence, spot: Spot) -> Evidence:
    """From a batch on, its partition uses the next epoch, with unchanged sequences."""
    first = asked(evidence, settled(evidence)[spot].exchange)

    def numbers(request: int, part: ProducePart) -> Numbers | None:
        if part.partition != spot[0] or (part.base_sequence or 0) < (first.base_sequence or 0):
            return None
        return part.producer_id or 0, (part.producer_epoch or 0) + 1, part.base_sequence or 0

    return renumbered(evidence, numbers)


def _refused(code: int, change: Callable[[ProducePart], ProducePart]) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation in which a batch is first sent with wrong numbers, which the broker refuses.

    It is sent right before it is sent with its own numbers.
    """

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        batch = settled(evidence)[spot]
        wrong = change(asked(evidence, batch.exchange))
        told = ProducePart(wrong.topic, wrong.partition, base_offset=-1, error_code=code)
        request, answer = request_of(evidence, batch), answer_to(evidence, batch)
        return with_frames_added(evidence, pair(evidence, request, answer, wrong, told, -BEHIND_NS))

    return apply


def _by(sequence: int, epoch: int = 0) -> Callable[[ProducePart], ProducePart]:
    return lambda part: changed(
        part,
        base_sequence=(part.base_sequence or 0) + sequence,
        producer_epoch=(part.producer_epoch or 0) + epoch,
    )


def _epoch_back(evidence: Evidence, spot: Spot) -> Evidence:
    """The partition restarts under the next epoch, and one more batch is tried under the old one."""
    first = asked(evidence, settled(evidence)[spot].exchange)

    def numbers(_: int, part: ProducePart) -> Numbers | None:
        if part.partition != spot[0] or (part.base_sequence or 0) < (first.base_sequence or 0):
            return None
        begun = (part.base_sequence or 0) - (first.base_sequence or 0)
        return part.producer_id or 0, (part.producer_epoch or 0) + 1, begun

    raised = renumbered(evidence, numbers)
    last = [each for each in settled(raised) if each[0] == spot[0]][-1]
    return _refused(OLD_EPOCH, _by(0, -1))(raised, last)


def _numbered(_: Evidence, batch: Batch) -> bool:
    return batch.records[0].producer_id >= 0


def _later(evidence: Evidence, batch: Batch) -> bool:
    """True for a numbered batch that is not the first of its partition."""
    return _numbered(evidence, batch) and batch.records[0].sequence > 0


def _several_later(evidence: Evidence, batch: Batch) -> bool:
    """True for such a batch of several records: a shift of one makes it overlap its correct place."""
    return _later(evidence, batch) and several(evidence, batch)


def _inner(evidence: Evidence) -> list[Spot]:
    """Return the later batches of each partition, except the last one."""
    lasts = {spot[0]: spot for spot in settled(evidence)}
    return [spot for spot in spots(_later)(evidence) if spot != lasts[spot[0]]]


def _all_numbered(evidence: Evidence) -> bool:
    return len(settled(evidence)) > 2 and all(
        _numbered(evidence, batch) for batch in settled(evidence).values()
    )


IDENTITY = ("identity-missing", "identity-changed", "identity-invented")

PERTURBATIONS = (
    Perturbation(
        "no-producer-id",
        WIRE_AND_LOG,
        "claims idempotence and sends no producer id",
        IDENTITY,
        once(_all_numbered),
        _none,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "new-producer-id-each-request",
        WIRE_AND_LOG,
        "sends each request under another producer id",
        IDENTITY,
        once(_all_numbered),
        _one_each,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "batch-without-producer-id",
        WIRE_AND_LOG,
        "sends one batch without a producer id",
        IDENTITY,
        spots(_numbered),
        _one_without,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "invented-producer-id",
        WIRE_AND_LOG,
        "continues under a producer id that no broker assigned",
        IDENTITY,
        spots(_later),
        _two_ids,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "all-sequences-zero",
        WIRE_AND_LOG,
        "sends every batch with the sequence 0",
        ("sequence-reused",),
        once(_all_numbered),
        _all_from_zero,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "sequence-kept-after-bump",
        WIRE_AND_LOG,
        "raises its epoch and continues with the sequence of the old one",
        ("sequence-gap", *IDENTITY),
        spots(_later),
        _higher_epoch,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "sequence-gap",
        channels("frames"),
        "leaves a gap of one in the sequence of a partition, which the broker refuses",
        ("sequence-reused", "sequence-gap"),
        spots(_several_later),
        _refused(OUT_OF_ORDER, _by(1)),
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "sequence-overlap",
        channels("frames"),
        "begins a batch with a sequence of the one before it, which the broker refuses",
        ("sequence-reused", "sequence-gap"),
        spots(_several_later),
        _refused(OUT_OF_ORDER, _by(-1)),
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "epoch-back",
        channels("frames"),
        "sends a batch under the epoch before its own, which the broker refuses",
        (*IDENTITY, "sequence-reused", "sequence-gap"),
        _inner,
        _epoch_back,
        guarantees=EXACTLY_ONCE,
    ),
)
