"""Records that are in the log otherwise than they were handed over: value, key, headers, timestamps, and strangers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.evidence import PRODUCER, Evidence
from harness.outcome import Outcome, Verdict
from harness.rows import Frame, LogRecord, ProducePart
from harness.value import Identity, encode
from suites.checks.promises import DURABLE
from suites.perturbations.batches import altered, replaced, several, spots
from suites.perturbations.edits import with_frames, with_results
from suites.perturbations.exchanges import Batch, Spot, settled
from suites.perturbations.perturbation import Perturbation, channels, once
from suites.perturbations.relaying import NEW

ALL_CHANNELS = channels("frames", "log", "history")
IN_BATCH = channels("frames", "log")
#: An hour, and a day: no clock of a client is so wrong.
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
PRESENT = "the whole trial"


def _value(change: Callable[[str], str]) -> Callable[[Evidence, Spot], Evidence]:
    """The middle record of a batch has another value."""

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        index = _middle(settled(evidence)[spot])
        value = settled(evidence)[spot].records[index].value or ""
        return altered(evidence, spot, index, value=change(value))

    return apply


def _middle(batch: Batch) -> int:
    return len(batch.records) // 2


def _flipped(value: str) -> str:
    at = len(value) // 2
    return value[:at] + ("x" if value[at] != "x" else "y") + value[at + 1 :]


def _neighbours_value(evidence: Evidence, spot: Spot) -> Evidence:
    """A record has the key and value of the one before it: a buffer that was used again too soon."""
    records = settled(evidence)[spot].records
    index = max(1, _middle(settled(evidence)[spot]))
    return altered(evidence, spot, index, value=records[index - 1].value, key=records[index - 1].key)


def _other_key(evidence: Evidence, spot: Spot) -> Evidence:
    record = settled(evidence)[spot].records[_middle(settled(evidence)[spot])]
    return altered(evidence, spot, _middle(settled(evidence)[spot]), key=f"{record.key}x")


def _no_key(evidence: Evidence, spot: Spot) -> Evidence:
    return altered(evidence, spot, _middle(settled(evidence)[spot]), key=None)


def _swapped_keys(evidence: Evidence, spot: Spot) -> Evidence:
    records = list(settled(evidence)[spot].records)
    records[0], records[-1] = (
        changed(records[0], key=records[-1].key),
        changed(records[-1], key=records[0].key),
    )
    return replaced(evidence, {spot: records})


def _foreign(identity: Callable[[Evidence], Identity]) -> Callable[[Evidence, Spot], Evidence]:
    """A record that nobody handed over follows the last one of a batch."""

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        records = settled(evidence)[spot].records
        value = encode(identity(evidence), evidence.record.spec.workload.value_bytes)
        return replaced(evidence, {spot: (*records, changed(records[-1], offset=NEW, value=value))})

    return apply


def _of_another_run(evidence: Evidence) -> Identity:
    return Identity("another-run", evidence.record.topic, PRODUCER, 0)


def _never_handed_over(evidence: Evidence) -> Identity:
    return Identity(evidence.record.run_id, evidence.record.topic, PRODUCER, 10_000_000)


def _denied(evidence: Evidence, spot: Spot) -> Evidence:
    """The client calls what it stored a certain failure."""
    denied = [
        changed(send, outcome=Outcome.FAIL, partition=-1, offset=-1, error="RecordTooLargeException")
        for send in settled(evidence)[spot].sends
    ]
    return with_results(evidence, denied)


def _empty_value(_: str) -> str:
    return ""


def _with_headers(evidence: Evidence, spot: Spot) -> Evidence:
    return altered(evidence, spot, _middle(settled(evidence)[spot]), headers=1)


def _timed(at: Callable[[int], int]) -> Callable[[Evidence, str], Evidence]:
    """Every record and every batch on the wire has another timestamp."""

    def frame(row: Frame) -> Frame:
        parts = tuple(
            [
                part
                if part.first_timestamp_ms is None or part.max_timestamp_ms is None
                else changed(
                    part,
                    first_timestamp_ms=at(part.first_timestamp_ms),
                    max_timestamp_ms=at(part.max_timestamp_ms),
                )
                for part in row.produce
            ]
        )
        return changed(row, produce=parts) if row.produce else row

    def record(row: LogRecord) -> LogRecord:
        return row if row.control else changed(row, timestamp_ms=at(row.timestamp_ms))

    def apply(evidence: Evidence, _: str) -> Evidence:
        moved = with_frames(evidence, map(frame, evidence.frames))
        return replace(
            moved, log=tuple(map(record, evidence.log)), stopped=tuple(map(frame, evidence.stopped))
        )

    return apply


def _is_timed(evidence: Evidence) -> bool:
    """True where records have their producer's timestamps, and requests tell them."""
    parts = [part for frame in evidence.frames for part in frame.produce]
    told = any((part.first_timestamp_ms or 0) > 0 for part in parts)
    return told and any(record.timestamp_ms > 0 for record in evidence.log)


def _one_timestamp(evidence: Evidence, spot: Spot) -> Evidence:
    """One record in the middle says that it is of yesterday."""
    record = settled(evidence)[spot].records[_middle(settled(evidence)[spot])]
    return altered(
        evidence, spot, _middle(settled(evidence)[spot]), timestamp_ms=max(0, record.timestamp_ms - DAY_MS)
    )


def _has_headers(evidence: Evidence, batch: Batch) -> bool:
    return batch.records[0].headers is not None


def _keyed(_: Evidence, batch: Batch) -> bool:
    return batch.records[len(batch.records) // 2].key is not None


def _keys_differ(_: Evidence, batch: Batch) -> bool:
    return batch.records[0].key != batch.records[-1].key


def _timestamped(evidence: Evidence, batch: Batch) -> bool:
    return _is_timed(evidence) and several(evidence, batch)


def _recompressed(evidence: Evidence, _: str) -> Evidence:
    """Everything is compressed by another codec, on the wire and in the log."""
    asked = evidence.record.spec.config["compression.type"]
    other = "lz4" if asked == "gzip" else "gzip"

    def part(row: ProducePart) -> ProducePart:
        return row if row.compression is None else changed(row, compression=other)

    frames = [
        changed(frame, produce=tuple(map(part, frame.produce))) if frame.produce else frame
        for frame in evidence.frames
    ]
    log = tuple([changed(record, compression=other) for record in evidence.log])
    return replace(with_frames(evidence, frames), log=log)


def _compresses_as_asked(evidence: Evidence) -> bool:
    asked = evidence.record.spec.config.get("compression.type")
    used = {record.compression for record in evidence.log}
    return "compression.type" not in evidence.record.not_set and used == {asked}


def _content(
    name: str, defect: str, apply: Callable[[Evidence, Spot], Evidence], *caught_by: str
) -> Perturbation:
    return Perturbation(name, IN_BATCH, defect, caught_by, spots(), apply)


PERTURBATIONS = (
    _content("damaged-value", "changes a byte of a value", _value(_flipped), "corrupted", "phantom"),
    _content(
        "cut-value",
        "cuts a value in half",
        _value(lambda value: value[: len(value) // 2]),
        "corrupted",
        "phantom",
    ),
    _content("empty-value", "sends an empty value", _value(_empty_value), "corrupted", "phantom"),
    Perturbation(
        "neighbours-value",
        IN_BATCH,
        "sends the key and value of one record in the place of the next",
        ("lost",),
        spots(several),
        _neighbours_value,
        guarantees=DURABLE,
    ),
    _content("wrong-key", "sends a record under another key", _other_key, "corrupted"),
    Perturbation(
        "no-key", IN_BATCH, "sends a record without its key", ("corrupted",), spots(_keyed), _no_key
    ),
    Perturbation(
        "swapped-keys",
        IN_BATCH,
        "swaps the keys of two records of a batch",
        ("corrupted",),
        spots(_keys_differ),
        _swapped_keys,
    ),
    Perturbation(
        "foreign-record",
        ALL_CHANNELS,
        "sends a record of another run that was left in a buffer",
        ("phantom",),
        spots(),
        _foreign(_of_another_run),
    ),
    Perturbation(
        "invented-record",
        ALL_CHANNELS,
        "sends a record that was never handed to it",
        ("phantom",),
        spots(),
        _foreign(_never_handed_over),
    ),
    Perturbation(
        "denied-record",
        channels("history"),
        "calls records certainly not written that are in the log",
        ("phantom",),
        spots(),
        _denied,
    ),
    Perturbation(
        "added-header",
        IN_BATCH,
        "adds a header to a record",
        ("corrupted",),
        spots(_has_headers),
        _with_headers,
    ),
    Perturbation(
        "timestamps-zero",
        IN_BATCH,
        "sends every record with the timestamp 0",
        ("timestamps-outside",),
        once(_is_timed),
        _timed(lambda _: 0),
        Verdict.DIFFERS,
    ),
    Perturbation(
        "timestamps-without",
        IN_BATCH,
        "sends every record without a timestamp (-1)",
        ("timestamps-outside",),
        once(_is_timed),
        _timed(lambda _: -1),
        Verdict.DIFFERS,
    ),
    Perturbation(
        "timestamps-in-seconds",
        IN_BATCH,
        "sends timestamps in seconds instead of milliseconds",
        ("timestamps-outside",),
        once(_is_timed),
        _timed(lambda t_ms: t_ms // 1_000),
        Verdict.DIFFERS,
    ),
    Perturbation(
        "timestamps-ahead",
        IN_BATCH,
        "sends timestamps of an hour later",
        ("timestamps-outside",),
        once(_is_timed),
        _timed(lambda t_ms: t_ms + HOUR_MS),
        Verdict.DIFFERS,
    ),
    Perturbation(
        "old-timestamp",
        IN_BATCH,
        "sends a record with a timestamp of yesterday",
        ("record-misdated",),
        spots(_timestamped),
        _one_timestamp,
        Verdict.DIFFERS,
    ),
    Perturbation(
        "wrong-compression",
        IN_BATCH,
        "compresses by another codec than compression.type",
        ("codec-not-applied",),
        once(_compresses_as_asked),
        _recompressed,
        Verdict.DIFFERS,
    ),
)
