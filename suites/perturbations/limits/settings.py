"""The limits of the excuses for settings, timestamps and places: what could not be set, dated or reported."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import AtTime, FaultSpec
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins.perturbation import Perturbation
from harness.wire.error_table import BY_NAME
from harness.workloads.produce.accounting import place
from suites.analysis.promises import DURABLE, EVERY, EXACTLY_ONCE
from suites.checks.wire.not_as_configured import SLACK_MS, UNPLACED
from suites.checks.wire.on_the_way import wall_offsets_ns
from suites.perturbations.batches import never_sent, pair
from suites.perturbations.edits import with_frame, with_frames_added, with_parts, with_results, with_spec
from suites.perturbations.exchanges import Batch, Spot, answer_to, asked, request_of, settled
from suites.perturbations.limits.scene import Stage, lacking, refusal, spots
from suites.perturbations.perturbation import channels

CODEC, ACKS = "compression.type", "acks"
DUPLICATE = BY_NAME["DUPLICATE_SEQUENCE_NUMBER"].code
#: A text of this size shrinks by more than the header of a format.
MORE_BYTES = 500
#: More than the slack of a comparison of clocks.
MORE_MS = 1_000
#: Twice the delay that the timestamp of an answer may have after its bytes were passed on.
EARLY_NS = 12 * NS_PER_MS
Pair = tuple[Spot, Spot]


def _with_acks(evidence: Evidence) -> list[Spot]:
    wanted = str(evidence.record.spec.config.get(ACKS))
    if wanted not in ("all", "-1") or ACKS in evidence.record.not_set:
        return []
    return [spot for spot, batch in settled(evidence).items() if request_of(evidence, batch).acks == -1]


def _acks_without_codec(evidence: Evidence, spot: Spot) -> Evidence:
    """One request asks for acks=1, from a client that could not be given a codec."""
    return lacking(with_frame(evidence, settled(evidence)[spot].exchange.request, acks=1), CODEC)


def _compressed(evidence: Evidence) -> list[Spot]:
    """Return batches that were compressed as asked, and with good reason: their text shrinks to less than half."""
    wanted = evidence.record.spec.config.get(CODEC)
    if wanted == "none" or CODEC in evidence.record.not_set:
        return []
    found = []
    for spot, batch in settled(evidence).items():
        text = "".join((record.key or "") + (record.value or "") for record in batch.records).encode()
        is_as_asked = asked(evidence, batch.exchange).compression == wanted
        if is_as_asked and len(text) > MORE_BYTES and len(zlib.compress(text)) < len(text) // 2:
            found.append(spot)
    return found


def _uncompressed(evidence: Evidence, spot: Spot) -> Evidence:
    batch = settled(evidence)[spot]
    sent = changed(asked(evidence, batch.exchange), compression="none")
    log = [changed(each, compression="none") if each in batch.records else each for each in evidence.log]
    return replace(
        with_parts(evidence, {(batch.exchange.request, batch.exchange.part): sent}), log=tuple(log)
    )


def _dated(evidence: Evidence) -> list[Spot]:
    """Return batches with timestamps of their records, for a client that reports its wall clock."""
    if wall_offsets_ns(evidence)[1] == 0:
        return []
    batches = settled(evidence).items()
    return [spot for spot, each in batches if asked(evidence, each.exchange).max_timestamp_ms is not None]


def _life_ms(evidence: Evidence) -> tuple[int, int]:
    """Return the times of the client's first and last event, by its own clock."""
    least_ns, most_ns = wall_offsets_ns(evidence)
    moments_ns = [event.mono_ns for event in evidence.history]
    return (min(moments_ns) + least_ns) // NS_PER_MS, (max(moments_ns) + most_ns) // NS_PER_MS


def _with_date(evidence: Evidence, spot: Spot, at_ms: int) -> Evidence:
    """Date all records of a batch ``at_ms``, in its header and in the log."""
    batch = settled(evidence)[spot]
    sent = changed(asked(evidence, batch.exchange), first_timestamp_ms=at_ms, max_timestamp_ms=at_ms)
    log = [changed(each, timestamp_ms=at_ms) if each in batch.records else each for each in evidence.log]
    dated = with_parts(evidence, {(batch.exchange.request, batch.exchange.part): sent})
    return replace(dated, log=tuple(log))


def _before_life(evidence: Evidence, spot: Spot) -> Evidence:
    return _with_date(evidence, spot, _life_ms(evidence)[0] - SLACK_MS - MORE_MS)


def _after_life(evidence: Evidence, spot: Spot) -> Evidence:
    return _with_date(evidence, spot, _life_ms(evidence)[1] + SLACK_MS + MORE_MS)


def _one_date(evidence: Evidence, spot: Spot, at_ms: int) -> Evidence:
    """Date the second record of a batch ``at_ms``."""
    first = settled(evidence)[spot].records[1]
    own = place(first)
    log = [changed(each, timestamp_ms=at_ms) if place(each) == own else each for each in evidence.log]
    return replace(evidence, log=tuple(log))


def _after_last_attempt(evidence: Evidence, spot: Spot) -> Evidence:
    at_ns = request_of(evidence, settled(evidence)[spot]).arrived_ns + wall_offsets_ns(evidence)[1]
    return _one_date(evidence, spot, at_ns // NS_PER_MS + SLACK_MS + MORE_MS)


def _before_call(evidence: Evidence, spot: Spot) -> Evidence:
    at_ns = settled(evidence)[spot].sends[1].invoke_ns + wall_offsets_ns(evidence)[0]
    return _one_date(evidence, spot, at_ns // NS_PER_MS - SLACK_MS - MORE_MS)


def _several_dated(evidence: Evidence) -> list[Spot]:
    batches = settled(evidence)
    return [spot for spot in _dated(evidence) if len(batches[spot].records) > 1]


def _misdated_elsewhere(evidence: Evidence, pair_of: Pair) -> Evidence:
    """A whole batch is dated outside of the trial, and so is one record of another batch with a correct header."""
    return _before_call(_before_life(evidence, pair_of[0]), pair_of[1])


def _two_dated(evidence: Evidence) -> list[Pair]:
    batches = settled(evidence)
    several = _several_dated(evidence)
    found = []
    for spot in several:
        other = next((each for each in several if _are_apart(batches[each], batches[spot])), None)
        if other is not None:
            found.append((spot, other))
    return found


def _are_apart(one: Batch, other: Batch) -> bool:
    return (
        one.exchange.request != other.exchange.request
        and one.records[0].batch_crc != other.records[0].batch_crc
    )


def _places(evidence: Evidence) -> list[Spot]:
    """Return batches whose every record was acknowledged with its place."""
    acks = str(evidence.record.spec.config.get(ACKS))
    if acks not in ("all", "-1", "1") or ACKS in evidence.record.not_set:
        return []
    batches = settled(evidence).items()
    return [
        spot
        for spot, batch in batches
        if all(send.offset >= 0 and send.partition >= 0 for send in batch.sends)
    ]


def _without_offset(evidence: Evidence, spot: Spot) -> Evidence:
    """A record is acknowledged with its partition and without its offset."""
    return with_results(evidence, [changed(settled(evidence)[spot].sends[0], offset=-1)])


def _beside_repetition(evidence: Evidence, places: Pair) -> Evidence:
    """Another batch is sent again and taken for a duplicate, in another partition or in this one."""
    other = settled(evidence)[places[1]]
    sent = asked(evidence, other.exchange)
    rows = pair(
        evidence, request_of(evidence, other), answer_to(evidence, other), sent, refusal(sent, DUPLICATE)
    )
    return with_frames_added(_without_offset(evidence, places[0]), rows)


def _pairs(evidence: Evidence) -> list[Pair]:
    batches = settled(evidence)
    return [
        pair_of
        for pair_of in _two_placed(evidence)
        if all(batches[spot].records[0].producer_id >= 0 for spot in pair_of)
    ]


def _beside_lost(evidence: Evidence, places: Pair) -> Evidence:
    """Another batch is never sent, and acknowledged without offsets."""
    gone = [changed(send, offset=-1) for send in settled(evidence)[places[1]].sends]
    return never_sent(with_results(_without_offset(evidence, places[0]), gone), [places[1]])


def _two_placed(evidence: Evidence) -> list[Pair]:
    known = _places(evidence)
    return [(spot, other) for spot, other in zip(known, reversed(known), strict=True) if spot != other]


def _tells_places(evidence: Evidence) -> list[Spot]:
    features = evidence.record.client.get("features")
    return [] if isinstance(features, list) and UNPLACED in features else _places(evidence)


def _half_without_place(evidence: Evidence, spot: Spot) -> Evidence:
    """Every other record of a batch, at least one, is acknowledged without a place."""
    acked = [changed(send, partition=-1, offset=-1) for send in settled(evidence)[spot].sends[::2]]
    return with_results(evidence, acked)


def _early(evidence: Evidence, spot: Spot) -> Evidence:
    """The records of a batch that waited for long are acknowledged 12 ms before its answer passes."""
    stage = Stage(evidence, spot)
    request, answer = request_of(evidence, stage.batch), answer_to(evidence, stage.batch)
    at_ns = stage.ns(0) + answer.t_ns - request.arrived_ns - EARLY_NS
    acked = [changed(send, complete_ns=at_ns) for send in stage.batch.sends]
    return with_results(stage.pause(0), acked)


def _shared(evidence: Evidence, places: Pair) -> Evidence:
    """Two records are acknowledged with the same place, and the topic is created again only afterwards."""
    one, other = (settled(evidence)[each].sends[0] for each in places)
    told = with_results(evidence, [changed(other, partition=one.partition, offset=one.offset)])
    end_ns = max(event.mono_ns for event in evidence.history)
    window = end_ns + 1, end_ns + NS_PER_MS
    start = AtTime(max(0, (window[0] - (evidence.record.phases.load_ns or 0)) // NS_PER_MS))
    row = FaultRow(len(told.faults), FaultSpec("topic_recreate", start, 1), window, window, 1)
    planned = with_spec(told, faults=(*told.record.spec.faults, row.spec))
    return replace(planned, faults=(*planned.faults, row))


def _with_places(evidence: Evidence) -> list[Pair]:
    return list(pairwise(_places(evidence)))


def _kind(
    name: str,
    changes: tuple[str, ...],
    defect: str,
    caught_by: tuple[str, ...],
    places: Callable[[Evidence], list[Pair]] | Callable[[Evidence], list[Spot]],
    apply: Callable[[Evidence, Pair], Evidence] | Callable[[Evidence, Spot], Evidence],
    verdict: Verdict = Verdict.DIFFERS,
    guarantees: frozenset[Guarantee] = EVERY,
) -> Perturbation:
    return Perturbation(name, channels(*changes), defect, caught_by, places, apply, verdict, guarantees)


OUTSIDE, MISDATED, MISSING = ("timestamps-outside",), ("record-misdated",), ("offset-missing",)
FRAMES_AND_LOG = ("frames", "log")

PERTURBATIONS = (
    _kind(
        "uncompressed-although-it-pays",
        FRAMES_AND_LOG,
        "sends one batch without compression.type, which would have halved it",
        ("codec-not-applied",),
        _compressed,
        _uncompressed,
    ),
    _kind(
        "acks-of-the-leader-without-codec",
        ("frames", "record"),
        "sends a request with acks=1 although acks is all, and cannot be given a codec",
        ("acks-not-applied",),
        _with_acks,
        _acks_without_codec,
        Verdict.FAIL,
        DURABLE,
    ),
    _kind(
        "dated-shortly-before-its-life",
        FRAMES_AND_LOG,
        "dates a batch six seconds before the client began",
        OUTSIDE,
        _dated,
        _before_life,
    ),
    _kind(
        "dated-shortly-after-its-life",
        FRAMES_AND_LOG,
        "dates a batch six seconds after the client ended",
        OUTSIDE,
        _dated,
        _after_life,
    ),
    _kind(
        "record-dated-after-its-last-attempt",
        ("log",),
        "dates a record six seconds after the last request with its batch",
        MISDATED,
        _several_dated,
        _after_last_attempt,
    ),
    _kind(
        "record-dated-before-its-call",
        ("log",),
        "dates a record six seconds before it was handed over",
        MISDATED,
        _several_dated,
        _before_call,
    ),
    _kind(
        "record-misdated-beside-a-batch",
        FRAMES_AND_LOG,
        "dates a batch outside of the trial, and a record of another batch before its call",
        MISDATED,
        _two_dated,
        _misdated_elsewhere,
    ),
    _kind(
        "ack-of-a-partition-alone",
        ("history",),
        "acknowledges a record with its partition and without its offset",
        MISSING,
        _places,
        _without_offset,
    ),
    _kind(
        "acks-without-place",
        ("history",),
        "acknowledges every other record of a batch without a place",
        MISSING,
        _tells_places,
        _half_without_place,
    ),
    _kind(
        "ack-without-offset-beside-repetition",
        ("history", "frames"),
        "acknowledges a record without its offset, while another batch is taken for a duplicate",
        MISSING,
        _pairs,
        _beside_repetition,
        guarantees=EXACTLY_ONCE,
    ),
    _kind(
        "ack-without-offset-beside-a-lost-record",
        ("history", "frames", "log"),
        "acknowledges a record without its offset, and so all records of a batch that it never sends",
        MISSING,
        _two_placed,
        _beside_lost,
        guarantees=DURABLE,
    ),
    _kind(
        "ack-shortly-before-its-answer",
        ("history", "frames", "log"),
        "acknowledges records 12 ms before their answer passes",
        ("early-ack",),
        spots,
        _early,
        Verdict.FAIL,
        DURABLE,
    ),
    _kind(
        "shared-place-before-recreation",
        ("history", "faults"),
        "acknowledges two records with the same place, before the topic is created again",
        ("corrupted",),
        _with_places,
        _shared,
        Verdict.FAIL,
    ),
)
