"""Ten recorded trials with wrong or incomplete verdicts, and the current findings of the checks.

The same evidence with a client defect added shows the limit of each excuse.
"""

from __future__ import annotations

import lzma
import tarfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from msgspec.structs import replace as restruct

from harness.model.contract import OpComplete
from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind, LogRecord
from harness.plugins import registry
from harness.plugins.check import NoOpinion
from harness.storage.run_store import RunStore

ARCHIVE = Path(__file__).parent / "evidence" / "ten-trials.tar.xz"
CHECKS = (
    "duplicate",
    "early-ack",
    "gave-up",
    "lost",
    "reordered",
    "sequence-not-recovered",
    "oversized-batch-not-split",
)
SLOW = "generated-campaign-slow+plain-at-least-once"
#: The beginning of a trial's name, and its findings.
FOUND = {
    f"{SLOW}-java": [],
    f"{SLOW}-confluent-kafka": [],
    f"{SLOW}-reference": [],
    "frame-doubled-answers-at-least-once-kafka-python": [],
    "frame-stale-metadata-at-least-once-kafkajs": [("avoidable-duplicate", "SHOULD", 297)],
    "network-connect-timeout-at-least-once-franz-go": [("avoidable-duplicate", "SHOULD", 240)],
    "network-partition-silent-at-least-once-franz-go": [("avoidable-duplicate", "SHOULD", 240)],
    "network-refused-at-least-once-aiokafka": [("gave-up-early", "SHOULD", 268)],
    "network-refused-idempotent-sarama": [("gave-up-early", "SHOULD", 380), ("lost", "MUST", 2)],
    "network-reset-at-least-once-sarama": [],
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a function that returns the evidence of the trial whose name begins so."""
    folder = tmp_path_factory.mktemp("recorded")
    with tarfile.open(fileobj=BytesIO(lzma.decompress(ARCHIVE.read_bytes()))) as archive:
        archive.extractall(folder, filter="data")
    store, known = RunStore(folder), {}
    trials = [path.name for path in (folder / "trials").iterdir()]

    def of(name: str) -> Evidence:
        (trial,) = [trial for trial in trials if trial.startswith(name)]
        if trial not in known:
            known[trial] = store.read_evidence(trial)
        return known[trial]

    return of


def found(evidence):
    findings = []
    for name in CHECKS:
        try:
            findings += registry.table("checks")[name].run(evidence)
        except NoOpinion as reason:
            assert reason.reason.code in ("acks-not-all", "retries-limited")
    return sorted((each.anomaly, each.level, each.count) for each in findings)


@pytest.mark.parametrize("name", FOUND)
def test_recorded_trials_have_the_expected_findings(recorded, name):
    assert found(recorded(name)) == FOUND[name]


def batches(evidence):
    """Return the batches of each partition with their records, in log order."""
    by_place: dict[int, dict[int, list[LogRecord]]] = {}
    for record in sorted(evidence.log, key=lambda record: record.offset):
        by_place.setdefault(record.partition, {}).setdefault(record.base_offset, []).append(record)
    return {partition: list(placed.values()) for partition, placed in by_place.items()}


def laid_out(evidence, placed):
    """Return the evidence with these batches in this order. Offsets in log, responses and results match it."""
    moved: dict[tuple[int, int], int] = {}
    log = []
    for partition, records in placed.items():
        offset = 0
        for batch in records:
            base = offset
            for record in batch:
                moved[partition, record.offset] = offset
                log.append(restruct(record, offset=offset, base_offset=base))
                offset += 1

    def answered(frame: Frame) -> Frame:
        if frame.kind is not FrameKind.RESPONSE or not frame.produce:
            return frame
        parts = [
            restruct(part, base_offset=moved.get((part.partition, part.base_offset), -1))
            for part in frame.produce
        ]
        return restruct(frame, produce=tuple(parts))

    def told(event):
        if not isinstance(event, OpComplete) or event.op != "send":
            return event
        places = zip(event.partition, event.offset, strict=True)
        return restruct(event, offset=[moved.get(place, place[1]) for place in places])

    return replace(
        evidence,
        log=tuple(log),
        frames=tuple(map(answered, evidence.frames)),
        history=tuple(map(told, evidence.history)),
    )


def sent_once_more(evidence, *, after_ms, to=None, nth=40):
    """The ``nth`` answered Produce request is sent again on its connection, and its first batch is stored."""
    answers = {
        (frame.conn, frame.correlation_id): frame
        for frame in evidence.frames
        if frame.kind is FrameKind.RESPONSE and frame.produce and not frame.error_codes
    }
    asked = [
        frame
        for frame in evidence.frames
        if frame.kind is FrameKind.REQUEST and (frame.conn, frame.correlation_id) in answers and frame.produce
    ][nth]
    answer = answers[asked.conn, asked.correlation_id]
    part = asked.produce[0]
    base = next(each.base_offset for each in answer.produce if each.partition == part.partition)
    home = part.partition if to is None else to
    end = sum(record.partition == home for record in evidence.log)
    copies = [
        record for record in evidence.log if record.partition == part.partition and record.base_offset == base
    ]
    t_ns = answer.t_ns + after_ms * 1_000_000
    again = restruct(
        asked, t_ns=t_ns, received_ns=None, correlation_id=2**30, produce=(restruct(part, partition=home),)
    )
    stored = restruct(answer.produce[0], partition=home, base_offset=end, error_code=0)
    reply = restruct(answer, t_ns=t_ns + 1_000_000, received_ns=None, correlation_id=2**30, produce=(stored,))
    return replace(
        evidence,
        log=(
            *evidence.log,
            *(
                restruct(record, partition=home, offset=end + at, base_offset=end)
                for at, record in enumerate(copies)
            ),
        ),
        frames=tuple(sorted((*evidence.frames, again, reply), key=lambda frame: frame.t_ns)),
    )


def codes(evidence):
    return {anomaly for anomaly, _, _ in found(evidence)}


@pytest.mark.parametrize("name", [f"{SLOW}-java", f"{SLOW}-reference", "network-partition-silent"])
def test_reversed_log_is_reordered(recorded, name):
    evidence = recorded(name)
    turned = {partition: placed[::-1] for partition, placed in batches(evidence).items()}
    assert "unexplained-reorder" in codes(laid_out(evidence, turned))


def test_unchanged_offsets_leave_the_findings_unchanged(recorded):
    evidence = recorded(f"{SLOW}-java")
    assert found(laid_out(evidence, batches(evidence))) == []


@pytest.mark.parametrize(
    ("name", "nth", "after_ms"),
    [(f"{SLOW}-confluent-kafka", 3, 700), ("network-refused-at-least-once-aiokafka", 0, 2_000)],
)
def test_copy_long_after_its_acknowledgement_is_unexplained(recorded, name, nth, after_ms):
    assert "unexplained-duplicate" in codes(sent_once_more(recorded(name), after_ms=after_ms, nth=nth))


def test_immediate_copy_is_unexplained_despite_another_failed_connection(recorded):
    evidence = recorded("network-partition-silent")
    assert "unexplained-duplicate" in codes(sent_once_more(evidence, after_ms=5, nth=-2))


def test_retry_in_another_partition_is_unexplained(recorded):
    evidence = recorded("network-partition-silent")
    assert "unexplained-duplicate" in codes(sent_once_more(evidence, after_ms=1, to=1, nth=2))
