"""The error table: every error code of the protocol, and what it says about the fate of a record.

``retriable`` and ``invalid_metadata`` are facts about Kafka's own exception classes (``RetriableException``,
``InvalidMetadataException``) as of 4.3. ``produced`` is a judgement of this project, and a wrong entry leads to a wrong
verdict:

- *indefinite*: the record may or may not be in the log. This is the default, and the value for every doubtful case.
- *definite*: the attempt that got **this** response to a Produce request has certainly not appended the record.
  Each such entry gives the reason: the point where the broker rejects the request before it appends.

A response speaks about one attempt only. If an earlier attempt of the same batch was never answered, the batch may be
in the log, whatever the response to a later attempt says. Code that judges a send must therefore see all of its
attempts, and may call it failed only if every one of them is definite. The table makes no claim about codes that are
not a response to a Produce request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Produced = Literal["definite", "indefinite"]


@dataclass(frozen=True, slots=True)
class KafkaError:
    """One error code. ``why`` gives the reason for the value of ``produced``."""

    code: int
    name: str
    retriable: bool
    invalid_metadata: bool
    produced: Produced
    why: str


#: How Kafka's exception class behaves: it is final, it is retriable, or it is retriable after a metadata refresh.
_FINAL: Final = (False, False)
_RETRY: Final = (True, False)
_REFRESH: Final = (True, True)

CODES: Final[tuple[tuple[int, str, tuple[bool, bool]], ...]] = (
    (-1, "UNKNOWN_SERVER_ERROR", _FINAL),
    (0, "NONE", _FINAL),
    (1, "OFFSET_OUT_OF_RANGE", _FINAL),
    (2, "CORRUPT_MESSAGE", _RETRY),
    (3, "UNKNOWN_TOPIC_OR_PARTITION", _REFRESH),
    (4, "INVALID_FETCH_SIZE", _FINAL),
    (5, "LEADER_NOT_AVAILABLE", _REFRESH),
    (6, "NOT_LEADER_OR_FOLLOWER", _REFRESH),
    (7, "REQUEST_TIMED_OUT", _RETRY),
    (8, "BROKER_NOT_AVAILABLE", _FINAL),
    (9, "REPLICA_NOT_AVAILABLE", _REFRESH),
    (10, "MESSAGE_TOO_LARGE", _FINAL),
    (11, "STALE_CONTROLLER_EPOCH", _FINAL),
    (12, "OFFSET_METADATA_TOO_LARGE", _FINAL),
    (13, "NETWORK_EXCEPTION", _REFRESH),
    (14, "COORDINATOR_LOAD_IN_PROGRESS", _RETRY),
    (15, "COORDINATOR_NOT_AVAILABLE", _RETRY),
    (16, "NOT_COORDINATOR", _RETRY),
    (17, "INVALID_TOPIC_EXCEPTION", _FINAL),
    (18, "RECORD_LIST_TOO_LARGE", _FINAL),
    (19, "NOT_ENOUGH_REPLICAS", _RETRY),
    (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", _RETRY),
    (21, "INVALID_REQUIRED_ACKS", _FINAL),
    (22, "ILLEGAL_GENERATION", _FINAL),
    (23, "INCONSISTENT_GROUP_PROTOCOL", _FINAL),
    (24, "INVALID_GROUP_ID", _FINAL),
    (25, "UNKNOWN_MEMBER_ID", _FINAL),
    (26, "INVALID_SESSION_TIMEOUT", _FINAL),
    (27, "REBALANCE_IN_PROGRESS", _FINAL),
    (28, "INVALID_COMMIT_OFFSET_SIZE", _FINAL),
    (29, "TOPIC_AUTHORIZATION_FAILED", _FINAL),
    (30, "GROUP_AUTHORIZATION_FAILED", _FINAL),
    (31, "CLUSTER_AUTHORIZATION_FAILED", _FINAL),
    (32, "INVALID_TIMESTAMP", _FINAL),
    (33, "UNSUPPORTED_SASL_MECHANISM", _FINAL),
    (34, "ILLEGAL_SASL_STATE", _FINAL),
    (35, "UNSUPPORTED_VERSION", _FINAL),
    (36, "TOPIC_ALREADY_EXISTS", _FINAL),
    (37, "INVALID_PARTITIONS", _FINAL),
    (38, "INVALID_REPLICATION_FACTOR", _FINAL),
    (39, "INVALID_REPLICA_ASSIGNMENT", _FINAL),
    (40, "INVALID_CONFIG", _FINAL),
    (41, "NOT_CONTROLLER", _RETRY),
    (42, "INVALID_REQUEST", _FINAL),
    (43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", _FINAL),
    (44, "POLICY_VIOLATION", _FINAL),
    (45, "OUT_OF_ORDER_SEQUENCE_NUMBER", _FINAL),
    (46, "DUPLICATE_SEQUENCE_NUMBER", _FINAL),
    (47, "INVALID_PRODUCER_EPOCH", _FINAL),
    (48, "INVALID_TXN_STATE", _FINAL),
    (49, "INVALID_PRODUCER_ID_MAPPING", _FINAL),
    (50, "INVALID_TRANSACTION_TIMEOUT", _FINAL),
    (51, "CONCURRENT_TRANSACTIONS", _RETRY),
    (52, "TRANSACTION_COORDINATOR_FENCED", _FINAL),
    (53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", _FINAL),
    (54, "SECURITY_DISABLED", _FINAL),
    (55, "OPERATION_NOT_ATTEMPTED", _FINAL),
    (56, "KAFKA_STORAGE_ERROR", _REFRESH),
    (57, "LOG_DIR_NOT_FOUND", _FINAL),
    (58, "SASL_AUTHENTICATION_FAILED", _FINAL),
    (59, "UNKNOWN_PRODUCER_ID", _FINAL),
    (60, "REASSIGNMENT_IN_PROGRESS", _FINAL),
    (61, "DELEGATION_TOKEN_AUTH_DISABLED", _FINAL),
    (62, "DELEGATION_TOKEN_NOT_FOUND", _FINAL),
    (63, "DELEGATION_TOKEN_OWNER_MISMATCH", _FINAL),
    (64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", _FINAL),
    (65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", _FINAL),
    (66, "DELEGATION_TOKEN_EXPIRED", _FINAL),
    (67, "INVALID_PRINCIPAL_TYPE", _FINAL),
    (68, "NON_EMPTY_GROUP", _FINAL),
    (69, "GROUP_ID_NOT_FOUND", _FINAL),
    (70, "FETCH_SESSION_ID_NOT_FOUND", _RETRY),
    (71, "INVALID_FETCH_SESSION_EPOCH", _RETRY),
    (72, "LISTENER_NOT_FOUND", _REFRESH),
    (73, "TOPIC_DELETION_DISABLED", _FINAL),
    (74, "FENCED_LEADER_EPOCH", _REFRESH),
    (75, "UNKNOWN_LEADER_EPOCH", _RETRY),
    (76, "UNSUPPORTED_COMPRESSION_TYPE", _FINAL),
    (77, "STALE_BROKER_EPOCH", _FINAL),
    (78, "OFFSET_NOT_AVAILABLE", _RETRY),
    (79, "MEMBER_ID_REQUIRED", _FINAL),
    (80, "PREFERRED_LEADER_NOT_AVAILABLE", _REFRESH),
    (81, "GROUP_MAX_SIZE_REACHED", _FINAL),
    (82, "FENCED_INSTANCE_ID", _FINAL),
    (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", _REFRESH),
    (84, "ELECTION_NOT_NEEDED", _REFRESH),
    (85, "NO_REASSIGNMENT_IN_PROGRESS", _FINAL),
    (86, "GROUP_SUBSCRIBED_TO_TOPIC", _FINAL),
    (87, "INVALID_RECORD", _FINAL),
    (88, "UNSTABLE_OFFSET_COMMIT", _RETRY),
    (89, "THROTTLING_QUOTA_EXCEEDED", _RETRY),
    (90, "PRODUCER_FENCED", _FINAL),
    (91, "RESOURCE_NOT_FOUND", _FINAL),
    (92, "DUPLICATE_RESOURCE", _FINAL),
    (93, "UNACCEPTABLE_CREDENTIAL", _FINAL),
    (94, "INCONSISTENT_VOTER_SET", _FINAL),
    (95, "INVALID_UPDATE_VERSION", _FINAL),
    (96, "FEATURE_UPDATE_FAILED", _FINAL),
    (97, "PRINCIPAL_DESERIALIZATION_FAILURE", _FINAL),
    (98, "SNAPSHOT_NOT_FOUND", _FINAL),
    (99, "POSITION_OUT_OF_RANGE", _FINAL),
    (100, "UNKNOWN_TOPIC_ID", _REFRESH),
    (101, "DUPLICATE_BROKER_REGISTRATION", _FINAL),
    (102, "BROKER_ID_NOT_REGISTERED", _FINAL),
    (103, "INCONSISTENT_TOPIC_ID", _REFRESH),
    (104, "INCONSISTENT_CLUSTER_ID", _FINAL),
    (105, "TRANSACTIONAL_ID_NOT_FOUND", _FINAL),
    (106, "FETCH_SESSION_TOPIC_ID_ERROR", _RETRY),
    (107, "INELIGIBLE_REPLICA", _FINAL),
    (108, "NEW_LEADER_ELECTED", _FINAL),
    (109, "OFFSET_MOVED_TO_TIERED_STORAGE", _FINAL),
    (110, "FENCED_MEMBER_EPOCH", _FINAL),
    (111, "UNRELEASED_INSTANCE_ID", _FINAL),
    (112, "UNSUPPORTED_ASSIGNOR", _FINAL),
    (113, "STALE_MEMBER_EPOCH", _FINAL),
    (114, "MISMATCHED_ENDPOINT_TYPE", _FINAL),
    (115, "UNSUPPORTED_ENDPOINT_TYPE", _FINAL),
    (116, "UNKNOWN_CONTROLLER_ID", _FINAL),
    (117, "UNKNOWN_SUBSCRIPTION_ID", _FINAL),
    (118, "TELEMETRY_TOO_LARGE", _FINAL),
    (119, "INVALID_REGISTRATION", _FINAL),
    (120, "TRANSACTION_ABORTABLE", _FINAL),
    (121, "INVALID_RECORD_STATE", _FINAL),
    (122, "SHARE_SESSION_NOT_FOUND", _RETRY),
    (123, "INVALID_SHARE_SESSION_EPOCH", _RETRY),
    (124, "FENCED_STATE_EPOCH", _FINAL),
    (125, "INVALID_VOTER_KEY", _FINAL),
    (126, "DUPLICATE_VOTER", _FINAL),
    (127, "VOTER_NOT_FOUND", _FINAL),
    (128, "INVALID_REGULAR_EXPRESSION", _FINAL),
    (129, "REBOOTSTRAP_REQUIRED", _FINAL),
    (130, "STREAMS_INVALID_TOPOLOGY", _FINAL),
    (131, "STREAMS_INVALID_TOPOLOGY_EPOCH", _FINAL),
    (132, "STREAMS_TOPOLOGY_FENCED", _FINAL),
    (133, "SHARE_SESSION_LIMIT_REACHED", _RETRY),
)

#: Codes after which the attempt has certainly appended nothing, because the broker rejects the request first.
DEFINITE: Final[dict[str, str]] = {
    "CORRUPT_MESSAGE": "UnifiedLog.append checks CRC, size and format of all batches before it writes one.",
    "MESSAGE_TOO_LARGE": "UnifiedLog.append checks sizes against max.message.bytes before it writes.",
    "INVALID_TOPIC_EXCEPTION": "Before any append: ReplicaManager rejects internal topics, the client illegal names.",
    "RECORD_LIST_TOO_LARGE": "UnifiedLog.append checks the size against segment.bytes before it writes.",
    "NOT_ENOUGH_REPLICAS": (
        "Partition.appendRecordsToLeader counts the in-sync replicas before it appends; a transaction that could "
        "not be verified gets the same error and is not appended either."
    ),
    "INVALID_REQUIRED_ACKS": "ReplicaManager.appendRecords checks acks before everything else.",
    "TOPIC_AUTHORIZATION_FAILED": "KafkaApis filters the topics by their authorization before it appends any.",
    "CLUSTER_AUTHORIZATION_FAILED": "Idempotent writes are authorized before anything is appended.",
    "INVALID_TIMESTAMP": "LogValidator rejects the whole batch before it is written.",
    "UNSUPPORTED_VERSION": "The broker does not know the request's version, so it never saw the records.",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "The format is checked with the request, before any append.",
    "INVALID_PRODUCER_EPOCH": (
        "ProducerAppendInfo compares epochs before the log is written; a fenced producer's transaction is refused "
        "at its verification, before that."
    ),
    "INVALID_TXN_STATE": "Refused at the transaction's verification or by ProducerAppendInfo, both before the write.",
    "INVALID_PRODUCER_ID_MAPPING": "Refused at the transaction's verification, before the write.",
    "CONCURRENT_TRANSACTIONS": "Refused at the transaction's verification, before the write (KIP-890).",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "KafkaApis authorizes the transactional id before everything else.",
    "UNSUPPORTED_COMPRESSION_TYPE": "The codec is checked with the request, before any append.",
    "INVALID_RECORD": "LogValidator rejects the whole batch before it is written.",
    "TRANSACTION_ABORTABLE": "Refused at the transaction's verification, before the write (KIP-890).",
}

#: Codes that leave the fate of the record open: responses to Produce, or the client's own codes for a missing response.
INDEFINITE: Final[dict[str, str]] = {
    "NONE": "No error: the record is in the leader's log, unless acks=0, which the broker does not answer.",
    "UNKNOWN_SERVER_ERROR": "Any exception in the broker, including one thrown after the write.",
    "UNKNOWN_TOPIC_OR_PARTITION": (
        "Usually rejected at once. But DelayedProduce returns it too, if the partition is deleted while the append "
        "waits for its followers."
    ),
    "LEADER_NOT_AVAILABLE": "A metadata response: it says nothing about earlier attempts.",
    "NOT_LEADER_OR_FOLLOWER": (
        "DelayedProduce returns it if leadership is lost after the local append, while it waits for the followers "
        "(KAFKA-13574). The new leader may have the record."
    ),
    "REQUEST_TIMED_OUT": "Appended by the leader but not confirmed by the followers in time; or no response arrived.",
    "REPLICA_NOT_AVAILABLE": "Present brokers do not return it for Produce, so nothing shows that it is definite.",
    "NETWORK_EXCEPTION": "The connection was lost: the request may have arrived and its response been lost.",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "As the name says: the record is in the leader's log.",
    "INVALID_REQUEST": "It is thrown at many places, and not all of them are known to be before an append.",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": (
        "Nothing was appended now. But the broker also returns it for a duplicate older than the five batches that it "
        "remembers, and then the record is in the log (PRD-IDM-06)."
    ),
    "DUPLICATE_SEQUENCE_NUMBER": "The record is already in the log (PRD-IDM-06).",
    "KAFKA_STORAGE_ERROR": "The write itself failed, perhaps halfway, or the log went offline after it.",
    "UNKNOWN_PRODUCER_ID": "An old broker lost the producer's state: the outcome of earlier attempts is unknown.",
    "PRODUCER_FENCED": "Also returned after the coordinator timed out a transaction; not a response to Produce.",
    "UNKNOWN_TOPIC_ID": "May be returned if the topic is deleted while the append waits for its followers.",
    "INCONSISTENT_TOPIC_ID": "May be returned if the topic is created again while the append waits.",
}

NO_ANSWER_TO_PRODUCE: Final = "Not a response to a Produce request: it says nothing about a record."


def _error(code: int, name: str, retriable: bool, invalid_metadata: bool) -> KafkaError:
    if name in DEFINITE:
        return KafkaError(code, name, retriable, invalid_metadata, "definite", DEFINITE[name])
    why = INDEFINITE.get(name, NO_ANSWER_TO_PRODUCE)
    return KafkaError(code, name, retriable, invalid_metadata, "indefinite", why)


ERRORS: Final[Mapping[int, KafkaError]] = MappingProxyType(
    {code: _error(code, name, *kind) for code, name, kind in CODES}
)
BY_NAME: Final[Mapping[str, KafkaError]] = MappingProxyType({error.name: error for error in ERRORS.values()})


def error_for(code: int) -> KafkaError:
    """Return the entry for an error code. An unknown code is neither retriable nor definite."""
    known = ERRORS.get(code)
    if known is not None:
        return known
    why = "An unknown code, perhaps of a newer Kafka version."
    return KafkaError(code, f"UNKNOWN_CODE_{code}", False, False, "indefinite", why)
