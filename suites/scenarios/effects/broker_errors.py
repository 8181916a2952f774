"""Errors that brokers returned and what happened to the records, and also versions, throttling and identities.

An error shows in the answer as it passed the witness. It counts if the answer passed during a fault and the
client acted on it: it sent another request for the partition, or gave up records.
"""

from __future__ import annotations

from collections.abc import Collection

from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.model.verdicts import Outcome
from harness.plugins.scenario import Consequence
from harness.wire.apis import Api, api_name
from harness.wire.error_table import BY_NAME
from suites.analysis.attempts import PRODUCE, Attempt, attempts
from suites.scenarios.effects.fault_windows import during
from suites.scenarios.effects.responses import resumed

NOT_LEADER = BY_NAME["NOT_LEADER_OR_FOLLOWER"].code
REPLICAS = (BY_NAME["NOT_ENOUGH_REPLICAS"].code, BY_NAME["NOT_ENOUGH_REPLICAS_AFTER_APPEND"].code)
OVER_APPENDS = (NOT_LEADER, BY_NAME["REQUEST_TIMED_OUT"].code, *REPLICAS)
TOO_LARGE = BY_NAME["MESSAGE_TOO_LARGE"].code
OUT_OF_ORDER = BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code
UNKNOWN_PRODUCER = BY_NAME["UNKNOWN_PRODUCER_ID"].code
NO_TOPIC = (BY_NAME["UNKNOWN_TOPIC_OR_PARTITION"].code, BY_NAME["UNKNOWN_TOPIC_ID"].code)
UNSUPPORTED_VERSION = BY_NAME["UNSUPPORTED_VERSION"].code
API_VERSIONS, INIT_PRODUCER_ID = api_name(Api.API_VERSIONS), api_name(Api.INIT_PRODUCER_ID)


def over_appends(evidence: Evidence) -> Consequence:
    """Produce answers with an error after which a batch may be stored, and whose partition was retried or given up."""
    return _refusals(evidence, OVER_APPENDS, "an error after which a batch may be stored")


def too_few_replicas(evidence: Evidence) -> Consequence:
    """Produce answers that reported too few replicas, and whose partition was retried or given up."""
    return _refusals(evidence, REPLICAS, "that there are too few replicas")


def out_of_order(evidence: Evidence) -> Consequence:
    """Produce answers with OUT_OF_ORDER_SEQUENCE_NUMBER, whose partition was retried or given up."""
    return _refusals(evidence, (OUT_OF_ORDER,), "OUT_OF_ORDER_SEQUENCE_NUMBER")


def unknown_producer(evidence: Evidence) -> Consequence:
    """Produce answers with UNKNOWN_PRODUCER_ID, whose partition was retried or given up."""
    return _refusals(evidence, (UNKNOWN_PRODUCER,), "UNKNOWN_PRODUCER_ID")


def sequence_refused(evidence: Evidence) -> Consequence:
    """Produce answers with either of these errors, whose partition was retried or given up."""
    return _refusals(evidence, (OUT_OF_ORDER, UNKNOWN_PRODUCER), "that a sequence is wrong")


def no_topic(evidence: Evidence) -> Consequence:
    """Produce answers that reported an unknown topic, by name or by id, and whose partition was retried or given up."""
    return _refusals(evidence, NO_TOPIC, "that there is no such topic")


def not_leader(evidence: Evidence) -> Consequence:
    """Produce answers with NOT_LEADER_OR_FOLLOWER, after which another broker was asked, or records were given up."""
    return _refusals(evidence, (NOT_LEADER,), "NOT_LEADER_OR_FOLLOWER")


def too_large(evidence: Evidence) -> Consequence:
    """Batches that were refused as too large, followed by smaller ones of their partition, or by failures."""
    made = attempts(evidence)
    failed = [
        send.complete_ns
        for send in evidence.operations.values()
        if send.outcome is not Outcome.OK and send.complete_ns is not None
    ]
    count = sum(
        any(complete_ns >= refused.sent_ns for complete_ns in failed)
        or any(
            later.part.partition == refused.part.partition
            and later.sent_ns > refused.sent_ns
            and (later.part.records or 0) < (refused.part.records or 0)
            for later in made
        )
        for refused in made
        if refused.error_code == TOO_LARGE and _was_told(evidence, refused)
    )
    return Consequence(count, "batches were too large, and sent in parts or failed")


def throttled(evidence: Evidence) -> Consequence:
    """Produce answers with a throttle time."""
    count = sum(
        frame.throttle_ms > 0 and during(evidence, frame.t_ns)
        for frame in evidence.frames
        if frame.kind is FrameKind.RESPONSE and frame.api == PRODUCE
    )
    return Consequence(count, "Produce answers contained a throttle time")


def asked_lower(evidence: Evidence) -> Consequence:
    """Connections that got UNSUPPORTED_VERSION for ApiVersions, and then tried a lower version or ended."""
    refused: dict[int, int] = {}
    acted = set()
    for frame in evidence.frames:
        if frame.kind is FrameKind.CLOSE and frame.conn in refused:
            acted.add(frame.conn)
        if frame.api != API_VERSIONS:
            continue
        if frame.kind is FrameKind.RESPONSE and UNSUPPORTED_VERSION in frame.error_codes:
            if during(evidence, frame.t_ns):
                refused[frame.conn] = frame.api_version or 0
        elif frame.kind is FrameKind.REQUEST and (frame.api_version or 0) < refused.get(frame.conn, 0):
            acted.add(frame.conn)
    return Consequence(
        len(acted), "connections got UNSUPPORTED_VERSION, and then tried a lower version or ended"
    )


def identity_refused(evidence: Evidence) -> Consequence:
    """InitProducerId answers with an error, after which the client tried again or gave up records."""
    asked = [
        frame.t_ns
        for frame in evidence.frames
        if frame.api == INIT_PRODUCER_ID and frame.kind is FrameKind.REQUEST
    ]
    refused = [
        frame.t_ns
        for frame in evidence.frames
        if frame.api == INIT_PRODUCER_ID
        and frame.kind is FrameKind.RESPONSE
        and frame.error_codes
        and during(evidence, frame.t_ns)
    ]
    gave_up = len(evidence.acknowledged) < len(evidence.operations)
    count = sum(gave_up or any(t_ns > refused_ns for t_ns in asked) for refused_ns in refused)
    return Consequence(count, "requests for a producer id were refused, and repeated or given up")


def _refusals(evidence: Evidence, codes: Collection[int], what: str) -> Consequence:
    count = sum(attempt.error_code in codes and _was_told(evidence, attempt) for attempt in resumed(evidence))
    return Consequence(count, f"Produce answers reported {what}, and the client acted on it")


def _was_told(evidence: Evidence, attempt: Attempt) -> bool:
    return attempt.answered_ns is not None and during(evidence, attempt.answered_ns)
