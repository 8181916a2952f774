"""Rewritten responses: only the named fields change, in every version that a client may negotiate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from harness.wire.apis import Api, api_name
from harness.wire.messages import client_versions, decode_response, encode_response, message_class
from harness.witness.rewrites import (
    CannotRewrite,
    error_code,
    fetch_error,
    leaders,
    other_correlation_id,
    rewrite,
    throttle_time,
    unstable_offsets,
    unsupported_version,
    without_broker,
)
from testkit.codes import raises_code

pytestmark = pytest.mark.long("every version of every API")

Messages = Callable[[Any], st.SearchStrategy[Any]]
PRODUCER_APIS = (Api.PRODUCE, Api.METADATA, Api.API_VERSIONS, Api.INIT_PRODUCER_ID, Api.FIND_COORDINATOR)
VERSIONS = [
    (api, version)
    for api in PRODUCER_APIS
    for version in range(client_versions(api)[0], client_versions(api)[1] + 1)
]


def ids(pair: tuple[Api, int]) -> str:
    return f"{api_name(pair[0])}-{pair[1]}"


def parts(value: Any) -> Iterator[Any]:
    """Yield every structure of a message, beginning with the message."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif is_dataclass(value):
        yield value
        for field in fields(value):
            yield from parts(getattr(value, field.name))


def but(value: Any, *names: str) -> Any:
    """Return a message as dicts without these fields at any level, for comparing all other fields."""
    if isinstance(value, tuple):
        return tuple(but(item, *names) for item in value)
    if is_dataclass(value):
        return {f.name: but(getattr(value, f.name), *names) for f in fields(value) if f.name not in names}
    return value


@pytest.mark.parametrize("api_version", VERSIONS, ids=ids)
@given(data=st.data())
@settings(max_examples=4)
def test_a_rewrite_that_changes_nothing_gives_the_same_bytes(
    messages: Messages, api_version: tuple[Api, int], data: st.DataObject
) -> None:
    payload, _ = drawn(messages, api_version, data)
    assert rewrite(payload, *api_version, lambda message: message) == payload


@pytest.mark.parametrize("api_version", VERSIONS, ids=ids)
@given(data=st.data())
@settings(max_examples=4)
def test_an_error_code_is_set_everywhere_and_nothing_else_changes(
    messages: Messages, api_version: tuple[Api, int], data: st.DataObject
) -> None:
    payload, before = drawn(messages, api_version, data)
    after = read(rewrite(payload, *api_version, error_code(6)), api_version)
    assert all(part.error_code == 6 for part in parts(after) if hasattr(part, "error_code"))
    assert all(part.base_offset == -1 for part in parts(after) if hasattr(part, "base_offset"))
    spoken = ("error_code", "base_offset", "log_append_time")
    assert but(after, *spoken) == but(before, *spoken)


@given(data=st.data())
@settings(max_examples=20)
def test_an_error_code_for_one_partition_leaves_the_others_unchanged(
    messages: Messages, data: st.DataObject
) -> None:
    version = data.draw(st.sampled_from([v for api, v in VERSIONS if api is Api.PRODUCE]))
    payload, before = drawn(messages, (Api.PRODUCE, version), data)
    indexes = [part.index for part in parts(before) if hasattr(part, "index")]
    meant = data.draw(st.sampled_from([*indexes, 99]))
    after = read(rewrite(payload, Api.PRODUCE, version, error_code(3, meant)), (Api.PRODUCE, version))
    for old, new in zip(parts(before), parts(after), strict=True):
        if hasattr(old, "index"):
            assert new.error_code == 3 if old.index == meant else new == old


@given(data=st.data())
@settings(max_examples=20)
def test_replacing_one_error_code_leaves_the_others_unchanged(
    messages: Messages, data: st.DataObject
) -> None:
    """If one batch was stored and another refused, the answer for the stored one is unchanged."""
    version = data.draw(st.sampled_from([v for api, v in VERSIONS if api is Api.PRODUCE]))
    payload, before = drawn(messages, (Api.PRODUCE, version), data)
    codes = [part.error_code for part in parts(before) if hasattr(part, "error_code")]
    was = data.draw(st.sampled_from([*codes, 10]))
    after = read(rewrite(payload, Api.PRODUCE, version, error_code(59, was=was)), (Api.PRODUCE, version))
    for old, new in zip(parts(before), parts(after), strict=True):
        if hasattr(old, "error_code"):
            assert new.error_code == 59 if old.error_code == was else new == old


FETCHES = [
    (Api.FETCH, version)
    for version in range(client_versions(Api.FETCH)[0], client_versions(Api.FETCH)[1] + 1)
]
#: What a broker does not report of a partition that it has not read.
UNREAD = ("high_watermark", "last_stable_offset", "log_start_offset", "aborted_transactions", "records")


@pytest.mark.parametrize("api_version", FETCHES, ids=ids)
@given(data=st.data())
@settings(max_examples=10)
def test_an_error_of_fetched_partitions_leaves_the_response_and_takes_the_records(
    messages: Messages, api_version: tuple[Api, int], data: st.DataObject
) -> None:
    payload, before = drawn(messages, api_version, data)
    fetched = [part for topic in before.responses for part in topic.partitions]
    if not fetched:
        with raises_code(CannotRewrite, "no-fetched-partition"):
            rewrite(payload, *api_version, fetch_error(6))
        return
    after = read(rewrite(payload, *api_version, fetch_error(6)), api_version)
    parts_after = [part for topic in after.responses for part in topic.partitions]
    assert all(part.error_code == 6 and not part.records for part in parts_after)
    assert but(after, "responses") == but(before, "responses")
    assert but(tuple(parts_after), "error_code", *UNREAD) == but(tuple(fetched), "error_code", *UNREAD)


@pytest.mark.parametrize("api_version", FETCHES, ids=ids)
@given(data=st.data())
@settings(max_examples=10)
def test_an_error_of_a_fetch_session_is_that_of_the_whole_response(
    messages: Messages, api_version: tuple[Api, int], data: st.DataObject
) -> None:
    payload, before = drawn(messages, api_version, data)
    if not getattr(before, "session_id", 0):
        with raises_code(CannotRewrite, "no-fetch-session"):
            rewrite(payload, *api_version, fetch_error(70))
        return
    after = read(rewrite(payload, *api_version, fetch_error(70)), api_version)
    assert (after.error_code, after.session_id, after.responses) == (70, 0, ())


OFFSETS = [
    (Api.OFFSET_FETCH, version)
    for version in range(client_versions(Api.OFFSET_FETCH)[0], client_versions(Api.OFFSET_FETCH)[1] + 1)
]


@pytest.mark.parametrize("api_version", OFFSETS, ids=ids)
@given(data=st.data())
@settings(max_examples=10)
def test_unstable_offsets_are_those_of_partitions_alone(
    messages: Messages, api_version: tuple[Api, int], data: st.DataObject
) -> None:
    payload, before = drawn(messages, api_version, data)
    if api_version[1] < 7:
        with raises_code(CannotRewrite, "no-stable-offsets"):
            rewrite(payload, *api_version, unstable_offsets(88))
        return
    after = read(rewrite(payload, *api_version, unstable_offsets(88)), api_version)
    for was, now in zip(parts(before), parts(after), strict=True):
        if hasattr(now, "committed_offset"):
            assert (now.error_code, now.committed_offset) == (88, -1)
            assert now.partition_index == was.partition_index
        elif hasattr(now, "error_code"):
            assert now.error_code == was.error_code


@pytest.mark.parametrize("api_version", VERSIONS, ids=ids)
@given(data=st.data())
@settings(max_examples=2)
def test_a_throttle_time_is_set_if_the_version_has_one(
    messages: Messages, api_version: tuple[Api, int], data: st.DataObject
) -> None:
    payload, before = drawn(messages, api_version, data)
    if not hasattr(before, "throttle_time"):
        with raises_code(CannotRewrite, "no-throttle-time"):
            rewrite(payload, *api_version, throttle_time(250))
        return
    after = read(rewrite(payload, *api_version, throttle_time(250)), api_version)
    assert after == replace(before, throttle_time=timedelta(milliseconds=250))


@given(data=st.data())
@settings(max_examples=30)
def test_metadata_can_name_other_leaders_or_fewer_brokers(messages: Messages, data: st.DataObject) -> None:
    api_version = data.draw(st.sampled_from([pair for pair in VERSIONS if pair[0] is Api.METADATA]))
    payload, before = drawn(messages, api_version, data)
    node_ids = [broker.node_id for broker in before.brokers]
    leader = data.draw(st.sampled_from([*node_ids, 99]))
    after = read(rewrite(payload, *api_version, leaders(leader)), api_version)
    if leader in node_ids:
        assert all(part.leader_id == leader for part in parts(after) if hasattr(part, "leader_id"))
        assert but(after, "leader_id") == but(before, "leader_id")
    else:
        assert after == before
    gone = data.draw(st.sampled_from([*node_ids, 99]))
    after = read(rewrite(payload, *api_version, without_broker(gone)), api_version)
    assert [broker.node_id for broker in after.brokers] == [n for n in node_ids if n != gone]
    assert but(after, "brokers") == but(before, "brokers")


def test_unsupported_version_is_answered_in_version_0() -> None:
    told = unsupported_version((77).to_bytes(4) + b"whatever")
    assert decode_response(told, Api.API_VERSIONS, 3) == decode_response(told, Api.API_VERSIONS, 0)
    correlation_id, answer = decode_response(told, Api.API_VERSIONS, 4)
    assert (correlation_id, answer.error_code, answer.api_keys) == (77, ErrorCode.unsupported_version, ())


def test_only_the_correlation_id_is_changed() -> None:
    changed = other_correlation_id(bytes(range(12)))
    assert changed[4:] == bytes(range(4, 12)) and changed[:4] != bytes(range(4))
    assert int.from_bytes(changed[:4], signed=True) >= 0


@pytest.mark.parametrize("payload", [b"", b"\0\0\0\1", b"\0" * 9 + b"\xff" * 30])
def test_an_unreadable_response_is_not_rewritten(payload: bytes) -> None:
    with pytest.raises(CannotRewrite):
        rewrite(payload, Api.PRODUCE, 9, error_code(6))


def test_a_response_with_an_unknown_tag_is_not_rewritten() -> None:
    """The rewriter would lose the unknown tagged field of this InitProducerId response."""
    message = message_class(Api.INIT_PRODUCER_ID, 4, "response")
    plain = encode_response(
        message(throttle_time=timedelta(), error_code=ErrorCode.none, producer_id=1, producer_epoch=0),
        5,
    )[4:]
    tagged = plain[:-1] + b"\x01\x63\x02hi"
    assert decode_response(tagged, Api.INIT_PRODUCER_ID, 4) == decode_response(plain, Api.INIT_PRODUCER_ID, 4)
    with raises_code(CannotRewrite, "unknown-field"):
        rewrite(tagged, Api.INIT_PRODUCER_ID, 4, error_code(14))


def drawn(messages: Messages, api_version: tuple[Api, int], data: st.DataObject) -> tuple[bytes, Any]:
    message = data.draw(messages(message_class(*api_version, "response")))
    return encode_response(message, 5)[4:], message


def read(payload: bytes, api_version: tuple[Api, int]) -> Any:
    correlation_id, message = decode_response(payload, *api_version)
    assert correlation_id == 5
    return message
