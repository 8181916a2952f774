"""FetchSessionHandler: full and incremental requests, and when a session begins again (CSM-FET-10)."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.fetch.fetch_response import FetchAnswer, FetchedPartition
from clients.reference.consumer.fetch.fetch_session_handler import (
    FetchMetadata,
    FetchPartition,
    FetchSessionHandler,
)
from clients.reference.ports import INT32_MAX
from harness.wire.error_table import BY_NAME, error_for

ONE, TWO = UUID(int=1), UUID(int=2)
A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)


def at(offset, topic_id=ONE):
    return FetchPartition(topic_id, offset, 0, 100)


def answer(*partitions, session_id=0, error="NONE", throttle_ms=0, ids=(), version=17):
    return FetchAnswer(
        version=version,
        error=BY_NAME[error] if error != "NONE" else error_for(0),
        session_id=session_id,
        throttle_ms=throttle_ms,
        partitions={partition: FetchedPartition() for partition in partitions},
        topic_ids=frozenset(ids),
        nodes=(),
    )


def in_session(wanted, session_id=7):
    session = FetchSessionHandler()
    session.build(wanted)
    assert session.handle_response(answer(*wanted, session_id=session_id))
    return session


def test_a_session_begins_full_and_goes_on_with_changes():
    session = FetchSessionHandler()
    first = session.build({A0: at(0), A1: at(0)})
    assert (first.metadata, list(first.to_send)) == (FetchMetadata(0, 0), [A0, A1])
    assert session.handle_response(answer(A0, A1, session_id=7))
    second = session.build({A0: at(0), A1: at(5), B0: at(0, TWO)})
    assert second.metadata == FetchMetadata(7, 1)
    assert list(second.to_send) == [B0, A1]
    assert (second.to_forget, second.to_replace) == ((), ())
    assert list(second.partitions) == [A0, A1, B0]
    assert session.handle_response(answer(A1, session_id=7))
    third = session.build({B0: at(0, TWO)})
    assert third.metadata == FetchMetadata(7, 2)
    assert (dict(third.to_send), third.to_forget) == ({}, ((A0, ONE), (A1, ONE)))
    assert session.topic_names == {TWO: "b"}


def test_the_epoch_after_the_largest_is_1():
    assert FetchMetadata(7, INT32_MAX).next() == FetchMetadata(7, 1)


def test_a_broker_without_sessions_gets_full_requests():
    session = in_session({A0: at(0)}, session_id=0)
    assert session.build({A0: at(1)}).metadata == FetchMetadata(0, 0)


def test_a_broker_may_end_the_session():
    session = in_session({A0: at(0)})
    session.build({A0: at(1)})
    assert session.handle_response(answer(A0, session_id=0))
    assert session.build({A0: at(2)}).metadata == FetchMetadata(0, 0)


@pytest.mark.parametrize(
    ("error", "after"),
    [
        ("FETCH_SESSION_ID_NOT_FOUND", FetchMetadata(0, 0)),
        ("INVALID_FETCH_SESSION_EPOCH", FetchMetadata(7, 0)),
        ("FETCH_SESSION_TOPIC_ID_ERROR", FetchMetadata(7, 0)),
        ("UNKNOWN_SERVER_ERROR", FetchMetadata(7, 0)),
    ],
)
def test_after_an_error_the_next_request_is_full(error, after):
    session = in_session({A0: at(0)})
    session.build({A0: at(0)})
    assert not session.handle_response(answer(error=error))
    again = session.build({A0: at(0)})
    assert (again.metadata, list(again.to_send)) == (after, [A0])


def test_a_lost_response_begins_a_new_session_and_ends_the_old_one():
    session = in_session({A0: at(0)})
    session.build({A0: at(1)})
    session.handle_error()
    again = session.build({A0: at(1)})
    assert (again.metadata, list(again.to_send)) == (FetchMetadata(7, 0), [A0])


@pytest.mark.parametrize(
    "wrong", [answer(A0, session_id=7), answer(A0, A1, B0, session_id=7), answer(throttle_ms=9)]
)
def test_a_full_response_has_exactly_the_partitions(wrong):
    session = FetchSessionHandler()
    session.build({A0: at(0), A1: at(0)})
    assert not session.handle_response(wrong)
    assert session.build({A0: at(0)}).metadata == FetchMetadata(0, 0)


def test_an_incremental_response_has_no_other_partitions():
    session = in_session({A0: at(0)})
    session.build({A0: at(0)})
    assert not session.handle_response(answer(B0, session_id=7))
    assert session.build({A0: at(0)}).metadata == FetchMetadata(7, 0)


@pytest.mark.parametrize(("version", "usable"), [(12, True), (13, False)])
def test_a_response_by_id_has_no_other_topics(version, usable):
    session = in_session({A0: at(0)})
    session.build({A0: at(1)})
    assert session.handle_response(answer(session_id=7, ids=[TWO], version=version)) is usable


def test_a_topic_that_was_created_anew_is_replaced():
    session = in_session({A0: at(5, ONE)})
    data = session.build({A0: at(0, TWO)})
    assert (list(data.to_send), data.to_replace, data.to_forget) == ([A0], ((A0, ONE),), ())
    assert session.topic_names == {TWO: "a"}


def test_ids_are_used_only_if_all_topics_have_one():
    session = FetchSessionHandler()
    assert not session.build({A0: at(0, None), B0: at(0, TWO)}).uses_topic_ids
    assert session.topic_names == {}
    assert session.handle_response(answer(A0, B0, session_id=7, version=12))
    assert not session.build({B0: at(0, TWO)}).uses_topic_ids, "the broker knows the forgotten one by name"
    assert session.handle_response(answer(session_id=7, version=12))
    assert session.build({B0: at(0, TWO)}).uses_topic_ids


def test_close_ends_the_session():
    session = in_session({A0: at(0)})
    session.notify_close()
    data = session.build({})
    assert (data.metadata, dict(data.to_send), data.to_forget) == (FetchMetadata(7, -1), {}, ())


WANTED = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.integers(0, 2)),
    st.builds(at, st.integers(0, 2), st.sampled_from([ONE, TWO])),
)


@given(st.lists(WANTED, max_size=6))
def test_a_broker_that_applies_the_requests_knows_what_is_wanted(steps):
    """The law of KIP-227: the broker's session, built from the changes only, equals what the client wants."""
    session, broker = FetchSessionHandler(), {}
    for wanted in steps:
        data = session.build(wanted)
        if data.metadata.is_full:
            broker = {}
        for partition, topic_id in (*data.to_forget, *data.to_replace):
            assert broker.pop(partition).topic_id == topic_id
        broker |= data.to_send
        assert broker == wanted == data.partitions
        assert session.handle_response(answer(*(data.to_send if data.metadata.is_full else ()), session_id=3))
