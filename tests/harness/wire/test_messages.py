"""Messages: every API and version is written and read with any values, and compared with kio."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map
from kio.serial import entity_reader as kio_reader
from kio.serial import entity_writer as kio_writer

from harness.wire.apis import Api, api_name
from harness.wire.errors import WireError
from harness.wire.frames import FrameReader
from harness.wire.headers import (
    RequestHeader,
    read_request_header,
    read_response_header,
    write_request_header,
    write_response_header,
)
from harness.wire.messages import (
    client_versions,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    message_class,
)
from testkit.codes import raises_code

Messages = Callable[[Any], st.SearchStrategy[Any]]


def kio_written(message: Any) -> bytes:
    out = BytesIO()
    kio_writer(type(message))(out, message)
    return out.getvalue()


def payload_of(framed: bytes) -> bytes:
    reader = FrameReader()
    reader.feed(framed)
    payload = reader.next_frame()
    assert payload is not None
    assert reader.pending_bytes == 0
    return payload


@given(data=st.data())
@settings(max_examples=10)
def test_requests_round_trip_and_match_kio(messages: Messages, api: Api, data: st.DataObject) -> None:
    version = data.draw(st.integers(*client_versions(api)), label="version")
    entity = message_class(api, version, "request")
    message = data.draw(messages(entity), label="message")
    payload = payload_of(encode_request(message, 5, "c"))
    assert decode_request(payload) == (RequestHeader(api, version, 5, "c"), message)
    _, at = read_request_header(payload)
    assert payload[at:] == kio_written(message)
    assert kio_reader(entity)(payload, at) == (message, len(payload) - at)


@given(data=st.data())
@settings(max_examples=10)
def test_responses_round_trip_and_match_kio(messages: Messages, api: Api, data: st.DataObject) -> None:
    version = data.draw(st.integers(*client_versions(api)), label="version")
    entity = message_class(api, version, "response")
    message = data.draw(messages(entity), label="message")
    payload = payload_of(encode_response(message, -9))
    assert decode_response(payload, api, version) == (-9, message)
    _, at = read_response_header(payload, api, version)
    assert payload[at:] == kio_written(message)
    assert kio_reader(entity)(payload, at) == (message, len(payload) - at)


@given(data=st.data())
@settings(max_examples=10)
def test_hostile_bytes_are_a_message_or_a_wire_error(api: Api, data: st.DataObject) -> None:
    version = data.draw(st.integers(*client_versions(api)), label="version")
    small = st.sampled_from([0, 0, 0, 1, 2, 3, 0x7F, 0x80, 0xFF])
    body = data.draw(st.binary(max_size=60) | st.lists(small, max_size=60).map(bytes), label="body")
    request = write_request_header(RequestHeader(api, version, 0, None)) + body
    response = write_response_header(api, version, 0) + body
    with suppress(WireError):
        decode_request(request)
    with suppress(WireError):
        decode_response(response, api, version)


@given(st.binary(max_size=40), st.integers(-(2**15), 2**15 - 1), st.integers(-(2**15), 2**15 - 1))
def test_garbage_raises_nothing_but_a_wire_error(garbage: bytes, api_key: int, version: int) -> None:
    with suppress(WireError):
        decode_request(garbage)
    with suppress(WireError):
        decode_response(garbage, api_key, version)


def test_a_claimed_length_beyond_the_message_is_refused() -> None:
    # kio's own reader would allocate the memory and crash the process.
    header = write_request_header(RequestHeader(Api.METADATA, 1, 0, None))
    with raises_code(WireError, "array-too-long", count=2147483647):
        decode_request(header + (2**31 - 1).to_bytes(4, "big"))
    flexible = write_request_header(RequestHeader(Api.METADATA, 9, 0, None))
    with raises_code(WireError, "array-too-long", count=4294967294):
        decode_request(flexible + b"\xff\xff\xff\xff\x0f")


def heartbeat_response(error_code: int) -> bytes:
    return write_response_header(Api.HEARTBEAT, 4, 1) + bytes(4) + error_code.to_bytes(2, "big") + b"\x00"


def test_a_heartbeat_matches_golden_bytes() -> None:
    heartbeat = message_class(Api.HEARTBEAT, 4, "request")
    message = heartbeat(group_id="g", generation_id=1, member_id="m", group_instance_id=None)
    golden = bytes.fromhex("000c 0004 00000002 0001 63 00") + b"\x02g\x00\x00\x00\x01\x02m\x00\x00"
    assert encode_request(message, 2, "c") == len(golden).to_bytes(4, "big") + golden
    assert decode_request(golden) == (RequestHeader(12, 4, 2, "c"), message)


def test_known_and_unknown_error_codes_are_read() -> None:
    _, known = decode_response(heartbeat_response(27), Api.HEARTBEAT, 4)
    assert known.error_code is ErrorCode.rebalance_in_progress
    _, unknown = decode_response(heartbeat_response(999), Api.HEARTBEAT, 4)
    assert unknown.error_code == 999


def test_unknown_tagged_fields_are_skipped() -> None:
    payload = heartbeat_response(0)[:-1] + bytes.fromhex("01 63 02 abcd")
    assert decode_response(payload, Api.HEARTBEAT, 4) == decode_response(
        heartbeat_response(0), Api.HEARTBEAT, 4
    )


def test_a_tagged_field_must_fill_its_size() -> None:
    api_versions = message_class(Api.API_VERSIONS, 3, "response")
    message = api_versions(error_code=ErrorCode.none, api_keys=(), throttle_time=timedelta(0))
    message = replace(message, finalized_features_epoch=5)
    payload = payload_of(encode_response(message, 1))
    assert decode_response(payload, Api.API_VERSIONS, 3) == (1, message)
    # tag 1 of eight bytes, extended to nine by an additional byte
    longer = payload.replace(b"\x01\x08" + bytes(7) + b"\x05", b"\x01\x09" + bytes(7) + b"\x05\x00")
    assert longer != payload
    with raises_code(WireError, "tagged-field-length", name="finalized_features_epoch", size=9, taken=8):
        decode_response(longer, Api.API_VERSIONS, 3)


def test_an_omitted_tagged_structure_has_its_defaults() -> None:
    entity = message_class(Api.UPDATE_RAFT_VOTER, 0, "response")
    expected, size = kio_reader(entity)(bytes(7), 0)
    assert (size, expected.current_leader.leader_id, expected.current_leader.host) == (7, -1, "")
    payload = write_response_header(Api.UPDATE_RAFT_VOTER, 0, 1) + bytes(7)
    assert decode_response(payload, Api.UPDATE_RAFT_VOTER, 0) == (1, expected)


def test_an_explicit_null_in_a_tagged_field_is_read() -> None:
    # Java omits a null, and accepts one that another client writes.
    fetch = message_class(Api.FETCH, 12, "request")
    header = write_request_header(RequestHeader(Api.FETCH, 12, 0, None))
    body = bytes(4 + 4 + 4 + 4 + 1 + 4 + 4) + b"\x01\x01\x01"  # no topics, no forgotten topics, no rack
    _, plain = decode_request(header + body + b"\x00")
    _, with_null = decode_request(header + body + b"\x01\x00\x01\x00")
    assert isinstance(plain, fetch)
    assert plain.cluster_id is None
    assert with_null == plain


def test_an_api_versions_answer_in_version_0_is_read() -> None:
    old = message_class(Api.API_VERSIONS, 0, "response")(
        error_code=ErrorCode.unsupported_version, api_keys=()
    )
    payload = payload_of(encode_response(old, 3))
    assert decode_response(payload, Api.API_VERSIONS, 4) == (3, old)


def test_surplus_bytes_are_an_error() -> None:
    with raises_code(WireError, "bytes-left-over", left=1, name="HeartbeatResponse"):
        decode_response(heartbeat_response(0) + b"x", Api.HEARTBEAT, 4)


@pytest.mark.parametrize(("api_key", "version"), [(0, 2), (0, 99), (7, 0), (-1, 0)])
def test_an_unsupported_version_is_a_wire_error(api_key: int, version: int) -> None:
    with pytest.raises(WireError):
        message_class(api_key, version, "request")
    with pytest.raises(WireError):
        decode_request(write_request_header(RequestHeader(api_key, version, 0, None)))


def test_a_message_out_of_range_is_refused() -> None:
    heartbeat = message_class(Api.HEARTBEAT, 4, "request")
    message = heartbeat(group_id="g", generation_id=2**31, member_id="m", group_instance_id=None)
    with raises_code(WireError, "message-not-writable", entity="HeartbeatRequest"):
        encode_request(message, 2, "c")


def test_the_apis_match_kio() -> None:
    assert {int(api): api.name.lower() for api in Api} == dict(api_key_map)
    for api in Api:
        for version in client_versions(api):
            assert message_class(api, version, "request").__name__.startswith(api_name(api))


@pytest.mark.parametrize("length", [-2, -(2**15)])
def test_only_the_negative_length_minus_one_is_null(length: int) -> None:
    # transactional id, acks, timeout, no topics
    header = write_request_header(RequestHeader(Api.PRODUCE, 8, 0, None))
    rest = bytes(2 + 4 + 4)
    assert decode_request(header + b"\xff\xff" + rest)[1].transactional_id is None
    with raises_code(WireError, "negative-length", length=length):
        decode_request(header + length.to_bytes(2, "big", signed=True) + rest)
    with raises_code(WireError, "negative-length", length=-2):
        decode_request(header + b"\xff\xff" + rest[:-4] + (-2).to_bytes(4, "big", signed=True))


def test_a_truncated_last_string_is_refused() -> None:
    handshake = write_request_header(RequestHeader(Api.SASL_HANDSHAKE, 1, 0, None))
    assert decode_request(handshake + b"\x00\x05PLAIN")[1].mechanism == "PLAIN"
    with raises_code(WireError, "message-cut-off", name="SaslHandshakeRequest"):
        decode_request(handshake + b"\x00\x05PLAI")
