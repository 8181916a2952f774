"""Records that are in the log with another value, key or headers than they were sent with, and foreign records."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace as changed

from harness.model.evidence import PRODUCER, Evidence
from harness.model.payload import Identity, encode
from harness.model.verdicts import Outcome
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import DURABLE
from suites.perturbations.batches import altered, middle, replaced, several, spots
from suites.perturbations.edits import ended, with_results
from suites.perturbations.exchanges import Batch, Spot, settled
from suites.perturbations.perturbation import channels
from suites.perturbations.relaying import NEW

ALL_CHANNELS = channels("frames", "log", "history")
IN_BATCH = channels("frames", "log")


def _value(change: Callable[[str], str]) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation that changes the value of the middle record of a batch."""

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        index = middle(settled(evidence)[spot])
        value = settled(evidence)[spot].records[index].value or ""
        return altered(evidence, spot, index, value=change(value))

    return apply


def _flipped(value: str) -> str:
    at = len(value) // 2
    return value[:at] + ("x" if value[at] != "x" else "y") + value[at + 1 :]


def _neighbours_value(evidence: Evidence, spot: Spot) -> Evidence:
    """Give a record the key and value of the record before it, as if a buffer was reused too soon."""
    records = settled(evidence)[spot].records
    index = max(1, middle(settled(evidence)[spot]))
    return altered(evidence, spot, index, value=records[index - 1].value, key=records[index - 1].key)


def _other_key(evidence: Evidence, spot: Spot) -> Evidence:
    record = settled(evidence)[spot].records[middle(settled(evidence)[spot])]
    return altered(evidence, spot, middle(settled(evidence)[spot]), key=f"{record.key}x")


def _no_key(evidence: Evidence, spot: Spot) -> Evidence:
    return altered(evidence, spot, middle(settled(evidence)[spot]), key=None)


def _swapped_keys(evidence: Evidence, spot: Spot) -> Evidence:
    records = list(settled(evidence)[spot].records)
    records[0], records[-1] = (
        changed(records[0], key=records[-1].key),
        changed(records[-1], key=records[0].key),
    )
    return replaced(evidence, {spot: records})


def _foreign(identity: Callable[[Evidence], Identity]) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation that appends a record to a batch that was never handed over."""

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
    """The client reports a stored batch as certainly not written."""
    denied = [
        ended(send, send.complete_ns or 0, "RecordTooLargeException", Outcome.FAIL)
        for send in settled(evidence)[spot].sends
    ]
    return with_results(evidence, denied)


def _empty_value(_: str) -> str:
    return ""


def _with_headers(evidence: Evidence, spot: Spot) -> Evidence:
    return altered(evidence, spot, middle(settled(evidence)[spot]), headers=1)


def _has_headers(evidence: Evidence, batch: Batch) -> bool:
    return batch.records[0].headers is not None


def _keyed(_: Evidence, batch: Batch) -> bool:
    return batch.records[middle(batch)].key is not None


def _keys_differ(_: Evidence, batch: Batch) -> bool:
    return batch.records[0].key != batch.records[-1].key


def _content(
    name: str, defect: str, apply: Callable[[Evidence, Spot], Evidence], *caught_by: str
) -> Perturbation:
    return Perturbation(name, IN_BATCH, defect, caught_by, spots(), apply)


PERTURBATIONS = (
    _content(
        "damaged-value", "changes a byte of a value", _value(_flipped), "corrupted", "unexpected-record"
    ),
    _content(
        "cut-value",
        "cuts a value in half",
        _value(lambda value: value[: len(value) // 2]),
        "corrupted",
        "unexpected-record",
    ),
    _content("empty-value", "sends an empty value", _value(_empty_value), "corrupted", "unexpected-record"),
    Perturbation(
        "neighbours-value",
        IN_BATCH,
        "sends the key and value of one record instead of those of the next",
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
        ("unexpected-record",),
        spots(),
        _foreign(_of_another_run),
    ),
    Perturbation(
        "invented-record",
        ALL_CHANNELS,
        "sends a record that was never handed to it",
        ("unexpected-record",),
        spots(),
        _foreign(_never_handed_over),
    ),
    Perturbation(
        "denied-record",
        channels("history"),
        "reports records as certainly not written although they are in the log",
        ("unexpected-record",),
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
)
