"""The error table: complete, consistent with Kafka, and with a reason for every *definite* code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from harness.wire import error_table
from harness.wire.error_table import BY_NAME, ERRORS, error_for

#: Codes that answer a Produce request or replace a missing answer; each must have its own reason.
PRODUCE_PATH = {
    *(
        "NONE",
        "UNKNOWN_SERVER_ERROR",
        "CORRUPT_MESSAGE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "LEADER_NOT_AVAILABLE",
    ),
    *("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "REPLICA_NOT_AVAILABLE", "MESSAGE_TOO_LARGE"),
    *("NETWORK_EXCEPTION", "INVALID_TOPIC_EXCEPTION", "RECORD_LIST_TOO_LARGE", "NOT_ENOUGH_REPLICAS"),
    *("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "INVALID_REQUIRED_ACKS", "TOPIC_AUTHORIZATION_FAILED"),
    *("CLUSTER_AUTHORIZATION_FAILED", "INVALID_TIMESTAMP", "UNSUPPORTED_VERSION", "INVALID_REQUEST"),
    *("UNSUPPORTED_FOR_MESSAGE_FORMAT", "OUT_OF_ORDER_SEQUENCE_NUMBER", "DUPLICATE_SEQUENCE_NUMBER"),
    *(
        "INVALID_PRODUCER_EPOCH",
        "INVALID_TXN_STATE",
        "INVALID_PRODUCER_ID_MAPPING",
        "CONCURRENT_TRANSACTIONS",
    ),
    *("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "KAFKA_STORAGE_ERROR", "UNKNOWN_PRODUCER_ID"),
    *("UNSUPPORTED_COMPRESSION_TYPE", "INVALID_RECORD", "PRODUCER_FENCED", "UNKNOWN_TOPIC_ID"),
    *("INCONSISTENT_TOPIC_ID", "TRANSACTION_ABORTABLE"),
}


def test_the_table_is_complete_and_unique() -> None:
    assert len(ERRORS) == len(BY_NAME) == len(error_table.CODES)
    assert set(ERRORS) == {int(code) for code in ErrorCode} == set(range(-1, 134))


@pytest.mark.parametrize("code", list(ErrorCode), ids=lambda code: code.name)
def test_names_and_retriability_match_kafka(code: ErrorCode) -> None:
    error = error_for(int(code))
    assert error.code == code
    assert error.name == code.name.upper()
    assert error.retriable == code.retriable
    assert BY_NAME[error.name] is error


def test_the_invalid_metadata_errors_match_kafka() -> None:
    stale = {error.name for error in ERRORS.values() if error.invalid_metadata}
    assert stale == {
        "UNKNOWN_TOPIC_OR_PARTITION",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "REPLICA_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "KAFKA_STORAGE_ERROR",
        "LISTENER_NOT_FOUND",
        "FENCED_LEADER_EPOCH",
        "PREFERRED_LEADER_NOT_AVAILABLE",
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        "ELECTION_NOT_NEEDED",
        "UNKNOWN_TOPIC_ID",
        "INCONSISTENT_TOPIC_ID",
    }
    assert all(BY_NAME[name].retriable for name in stale)


def test_every_code_of_the_produce_path_has_its_own_reason() -> None:
    argued = {error.name for error in ERRORS.values() if error.why != error_table.NO_ANSWER_TO_PRODUCE}
    assert argued == PRODUCE_PATH
    assert argued == set(error_table.DEFINITE) | set(error_table.INDEFINITE)
    assert not set(error_table.DEFINITE) & set(error_table.INDEFINITE)


def test_codes_of_possibly_stored_records_are_indefinite() -> None:
    for name in (
        "REQUEST_TIMED_OUT",  # appended but not replicated
        "NETWORK_EXCEPTION",  # no answer
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",  # appended
        "NOT_LEADER_OR_FOLLOWER",  # possibly appended before the leader changed: KAFKA-13574
        "UNKNOWN_TOPIC_OR_PARTITION",  # DelayedProduce, case A
        "KAFKA_STORAGE_ERROR",  # possibly partly written
        "UNKNOWN_SERVER_ERROR",  # the cause is unknown
        "OUT_OF_ORDER_SEQUENCE_NUMBER",  # also the answer to a duplicate that is no longer remembered: PRD-IDM-06
        "DUPLICATE_SEQUENCE_NUMBER",  # already appended
    ):
        assert BY_NAME[name].produced == "indefinite"


def test_not_enough_replicas_is_definite_only_before_the_append() -> None:
    assert BY_NAME["NOT_ENOUGH_REPLICAS"].produced == "definite"
    assert BY_NAME["NOT_ENOUGH_REPLICAS_AFTER_APPEND"].produced == "indefinite"


@given(st.integers().filter(lambda code: code not in ERRORS))
def test_an_unknown_code_is_indefinite_and_not_retriable(code: int) -> None:
    error = error_for(code)
    assert error.name == f"UNKNOWN_CODE_{code}"
    assert (error.code, error.retriable, error.invalid_metadata) == (code, False, False)
    assert error.produced == "indefinite"
    assert error.why
