"""Requests to the wrong place: another partition, one that does not exist, another topic."""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import ProducePart
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.perturbations.batches import BEHIND_NS, pair, spots
from suites.perturbations.edits import with_frames_added
from suites.perturbations.exchanges import Batch, Spot, answer_to, asked, request_of, settled
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")
#: UNKNOWN_TOPIC_OR_PARTITION, and NOT_LEADER_OR_FOLLOWER.
UNKNOWN, NOT_LEADER = 3, 6


def _moved_retry(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch is refused in the next partition, and then stored in its own."""
    batch = settled(evidence)[spot]
    other = (spot[0] + 1) % evidence.record.spec.workload.partitions
    sent = changed(asked(evidence, batch.exchange), partition=other)
    told = ProducePart(sent.topic, other, base_offset=-1, error_code=NOT_LEADER)
    request, answer = request_of(evidence, batch), answer_to(evidence, batch)
    return with_frames_added(evidence, pair(evidence, request, answer, sent, told, -BEHIND_NS))


def _has_others(evidence: Evidence, _: Batch) -> bool:
    return evidence.record.spec.workload.partitions > 1


def _to_no_partition(evidence: Evidence, spot: Spot) -> Evidence:
    batch = settled(evidence)[spot]
    sent = changed(asked(evidence, batch.exchange), partition=evidence.record.spec.workload.partitions + 100)
    told = ProducePart(sent.topic, sent.partition, base_offset=-1, error_code=UNKNOWN)
    request, answer = request_of(evidence, batch), answer_to(evidence, batch)
    return with_frames_added(evidence, pair(evidence, request, answer, sent, told, -BEHIND_NS))


def _other_topic(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch is first sent to a topic that was not configured and that the broker does not have."""
    batch = settled(evidence)[spot]
    sent = changed(asked(evidence, batch.exchange), topic=f"{evidence.record.topic}-other")
    told = ProducePart(sent.topic, sent.partition, base_offset=-1, error_code=UNKNOWN)
    request, answer = request_of(evidence, batch), answer_to(evidence, batch)
    return with_frames_added(evidence, pair(evidence, request, answer, sent, told, -BEHIND_NS))


PERTURBATIONS = (
    Perturbation(
        "retried-in-another-partition",
        FRAMES,
        "stores a batch in one partition after sending it to another",
        ("batch-moved",),
        spots(_has_others),
        _moved_retry,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "unknown-partition",
        FRAMES,
        "sends a batch to a partition that the topic does not have",
        ("batch-moved", "unknown-partition"),
        spots(),
        _to_no_partition,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "other-topic",
        FRAMES,
        "sends a batch to a topic that it was not told to write to",
        ("other-topic",),
        spots(),
        _other_topic,
    ),
)
