"""Every message of a consumer's APIs has its parts, and a row of the witness holds them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judging.consumer_words import consumer_words
from harness.limits.frames import MAX_PARTS, MAX_TEXT
from harness.model.consumer_rows import CoordinatorPart, FetchPart, MemberPart, OffsetPart
from harness.model.rows import Frame, FrameKind
from harness.wire.apis import Api, api_name
from harness.wire.embedded_protocol import write_assignment
from harness.wire.messages import (
    client_versions,
    encode_request,
    encode_response,
    make,
    message_class,
    nested,
)
from harness.witness.consumer_contents import (
    REQUESTS,
    RESPONSES,
    STABLE,
    answered,
    asked,
)
from harness.witness.transcript import Transcript

Messages = Callable[[Any], st.SearchStrategy[Any]]
NAMES = {UUID(int=7): "t"}
APIS = sorted(REQUESTS)


def test_requests_and_responses_are_read_of_the_same_apis() -> None:
    assert REQUESTS.keys() == RESPONSES.keys()


@pytest.mark.parametrize("api", APIS, ids=api_name)
@pytest.mark.parametrize(("kind", "read"), [("request", asked), ("response", answered)])
@given(data=st.data())
def test_any_message_of_any_version_has_parts_that_can_be_stored(
    api: int, kind: Any, read: Any, messages: Messages, data: st.DataObject
) -> None:
    version = data.draw(st.integers(*client_versions(api)), label="version")
    message = data.draw(messages(message_class(api, version, kind)), label="message")
    members, coordinators, fetch, offsets, is_cut = read(api, message, NAMES)
    row = Frame(
        1,
        0,
        1,
        1,
        FrameKind(kind),
        members=members,
        coordinators=coordinators,
        fetch=fetch,
        offsets=offsets,
        is_cut=is_cut,
    )
    assert msgspec.json.decode(msgspec.json.encode(row), type=Frame) == row
    assert all(isinstance(words, str) and words for words in consumer_words(row))


def test_any_other_api_has_none() -> None:
    assert asked(Api.METADATA, object(), {}) == answered(Api.METADATA, object(), {})


def test_a_frame_keeps_no_more_than_its_limit() -> None:
    kind = message_class(Api.LEAVE_GROUP, 5, "request")
    member = nested(kind, "MemberIdentity")
    count = MAX_PARTS + 1
    long = make(member, member_id="m" * (MAX_TEXT + 1), group_instance_id=None, reason=None)
    members, *_, is_cut = asked(Api.LEAVE_GROUP, make(kind, group_id="g", members=(long,) * count), {})
    assert (len(members), len(members[0].member_id or ""), is_cut) == (MAX_PARTS, MAX_TEXT, True)
    members, *_, is_cut = asked(Api.LEAVE_GROUP, make(kind, group_id="g", members=(long,) * MAX_PARTS), {})
    assert (len(members), is_cut) == (MAX_PARTS, False)


def row_of(request: Any, response: Any) -> tuple[Frame, Frame]:
    """Return the rows of an exchange."""
    transcript = Transcript(lane=0, broker=1, conn=1, names=dict(NAMES))
    [sent] = transcript.sent(1, encode_request(request, 5, "m1"))
    [told] = transcript.answered(2, encode_response(response, 5))
    return sent, told


def of(api: Api, version: int, kind: Any, **values: Any) -> Any:
    return make(message_class(api, version, kind), **values)


def test_join_group_is_recorded() -> None:
    protocol = nested(message_class(Api.JOIN_GROUP, 5, "request"), "JoinGroupRequestProtocol")
    sent, told = row_of(
        of(
            Api.JOIN_GROUP,
            5,
            "request",
            group_id="g",
            session_timeout=timedelta(seconds=6),
            rebalance_timeout=timedelta(seconds=10),
            member_id="",
            group_instance_id="i",
            protocol_type="consumer",
            protocols=tuple(protocol(name=name, metadata=b"x") for name in ("range", "sticky")),
        ),
        of(
            Api.JOIN_GROUP,
            5,
            "response",
            throttle_time=timedelta(0),
            error_code=79,
            generation_id=-1,
            protocol_name="",
            leader="",
            member_id="m1-7",
            members=(),
        ),
    )
    assert sent.members == (
        MemberPart(
            "g",
            "",
            instance_id="i",
            protocols=("range", "sticky"),
            session_timeout_ms=6_000,
            rebalance_timeout_ms=10_000,
        ),
    )
    assert told.members == (MemberPart(None, "m1-7", -1, protocol="", leader="", error_code=79),)
    assert told.error_codes == (79,)


def test_a_fetch_is_recorded_without_its_data() -> None:
    request = message_class(Api.FETCH, 12, "request")
    topic, forgotten = nested(request, "FetchTopic"), nested(request, "ForgottenTopic")
    partition = make(
        nested(topic, "FetchPartition"),
        partition=2,
        current_leader_epoch=3,
        fetch_offset=40,
        last_fetched_epoch=1,
        log_start_offset=-1,
        partition_max_bytes=100,
    )
    response = message_class(Api.FETCH, 12, "response")
    told_topic = nested(response, "FetchableTopicResponse")
    data = make(
        nested(told_topic, "PartitionData"),
        partition_index=2,
        error_code=74,
        high_watermark=50,
        last_stable_offset=50,
        log_start_offset=0,
        aborted_transactions=None,
        preferred_read_replica=-1,
        records=b"12345",
    )
    sent, told = row_of(
        make(
            request,
            replica_id=-1,
            max_wait=timedelta(milliseconds=250),
            min_bytes=1,
            max_bytes=1_000,
            isolation_level=1,
            session_id=9,
            session_epoch=4,
            topics=(make(topic, topic="t", partitions=(partition,)),),
            forgotten_topics_data=(make(forgotten, topic="t", partitions=(5,)),),
            rack_id="",
        ),
        make(
            response,
            throttle_time=timedelta(0),
            error_code=0,
            session_id=9,
            responses=(make(told_topic, topic="t", partitions=(data,)),),
        ),
    )
    assert sent.fetch == FetchPart(9, 4, 1_000, 1, 250, 1)
    assert sent.offsets == (
        OffsetPart("t", 2, 40, 1, 3),
        OffsetPart("t", 5, forgotten=True),
    )
    assert told.fetch == FetchPart(9, error_code=0)
    assert told.offsets == (OffsetPart("t", 2, high_watermark=50, data_bytes=5, error_code=74),)


def test_a_heartbeat_of_the_new_protocol_says_which_fields_it_has() -> None:
    request = message_class(Api.CONSUMER_GROUP_HEARTBEAT, 1, "request")
    owned = make(nested(request, "TopicPartitions"), topic_id=UUID(int=7), partitions=(0, 2))
    response = message_class(Api.CONSUMER_GROUP_HEARTBEAT, 1, "response")
    sent, told = row_of(
        make(
            request,
            group_id="g",
            member_id="a",
            member_epoch=0,
            instance_id=None,
            rack_id=None,
            rebalance_timeout=timedelta(seconds=10),
            subscribed_topic_names=("t",),
            subscribed_topic_regex=None,
            server_assignor=None,
            topic_partitions=(owned,),
        ),
        make(
            response,
            throttle_time=timedelta(0),
            error_code=0,
            error_message=None,
            member_id="a",
            member_epoch=1,
            heartbeat_interval=timedelta(seconds=5),
            assignment=None,
        ),
    )
    assert sent.members == (
        MemberPart(
            "g", "a", 0, rebalance_timeout_ms=10_000, said=("subscribed_topic_names", "topic_partitions")
        ),
    )
    assert sent.offsets == (OffsetPart("t", 0), OffsetPart("t", 2))
    assert told.members == (MemberPart(None, "a", 1, heartbeat_interval_ms=5_000, error_code=0),)


def test_find_coordinator_is_recorded_in_every_generation_of_the_api() -> None:
    sent, told = row_of(
        of(Api.FIND_COORDINATOR, 0, "request", key="g"),
        of(Api.FIND_COORDINATOR, 0, "response", error_code=15, node_id=-1, host="", port=-1),
    )
    assert sent.coordinators == (CoordinatorPart("g"),)
    assert told.coordinators == (CoordinatorPart(None, node=-1, error_code=15),)
    coordinator = nested(message_class(Api.FIND_COORDINATOR, 4, "response"), "Coordinator")
    found = make(coordinator, key="g", node_id=2, host="h", port=1, error_code=0, error_message=None)
    sent, told = row_of(
        of(Api.FIND_COORDINATOR, 4, "request", key_type=0, coordinator_keys=("g",)),
        of(Api.FIND_COORDINATOR, 4, "response", throttle_time=timedelta(0), coordinators=(found,)),
    )
    assert sent.coordinators == (CoordinatorPart("g", 0),)
    assert told.coordinators == (CoordinatorPart("g", node=2, error_code=0),)


def test_a_changed_response_is_recorded_as_it_passed() -> None:
    transcript = Transcript(lane=0, broker=1, conn=1, names={})
    beat = of(
        Api.HEARTBEAT, 4, "request", group_id="g", generation_id=3, member_id="a", group_instance_id=None
    )
    list(transcript.sent(1, encode_request(beat, 5, "m1")))
    [told] = transcript.answered(
        2, encode_response(of(Api.HEARTBEAT, 4, "response", throttle_time=timedelta(0), error_code=0), 5)
    )
    other = encode_response(of(Api.HEARTBEAT, 4, "response", throttle_time=timedelta(0), error_code=27), 5)
    changed = transcript.changed(told, other[4:])
    assert (told.members, changed.members) == ((MemberPart(error_code=0),), (MemberPart(error_code=27),))


def test_sync_group_is_recorded_with_its_assignments() -> None:
    assignment = nested(message_class(Api.SYNC_GROUP, 3, "request"), "SyncGroupRequestAssignment")
    mine, other = (write_assignment(places, b"\0\1") for places in ([("t", 1), ("t", 0)], [("t", 2)]))
    sent, told = row_of(
        of(
            Api.SYNC_GROUP,
            3,
            "request",
            group_id="g",
            generation_id=4,
            member_id="a",
            group_instance_id=None,
            assignments=(
                assignment(member_id="a", assignment=mine),
                assignment(member_id="b", assignment=other),
            ),
        ),
        of(Api.SYNC_GROUP, 3, "response", throttle_time=timedelta(0), error_code=0, assignment=mine),
    )
    assert sent.members == (MemberPart("g", "a", 4, said=("assignments",)),)
    assert sent.offsets == (OffsetPart("t", 0), OffsetPart("t", 1), OffsetPart("t", 2))
    assert told.members == (MemberPart(error_code=0, said=("assignment",)),)
    assert told.offsets == (OffsetPart("t", 0), OffsetPart("t", 1))


def test_an_assignment_of_another_protocol_is_left_out_as_a_row_says() -> None:
    follower = of(
        Api.SYNC_GROUP,
        3,
        "request",
        group_id="g",
        generation_id=4,
        member_id="a",
        group_instance_id=None,
        assignments=(),
    )
    answer = of(
        Api.SYNC_GROUP, 3, "response", throttle_time=timedelta(0), error_code=0, assignment=b"\0\0\x7f"
    )
    sent, told = row_of(follower, answer)
    assert (sent.members, sent.offsets, sent.is_cut) == ((MemberPart("g", "a", 4),), (), False)
    assert told.members == (MemberPart(error_code=0, said=("assignment",)),)
    assert (told.offsets, told.is_cut) == ((), True)


@pytest.mark.parametrize(("version", "stable", "said"), [(6, None, ()), (7, False, ()), (7, True, (STABLE,))])
def test_request_for_stable_offsets_is_recorded(
    version: int, stable: bool | None, said: tuple[str, ...]
) -> None:
    flag = {} if stable is None else {"require_stable": stable}
    message = of(Api.OFFSET_FETCH, version, "request", group_id="g", topics=(), **flag)
    [member] = asked(Api.OFFSET_FETCH, message, {}).members
    assert member == MemberPart("g", said=said)
