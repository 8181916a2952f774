"""Headers: both generations, golden bytes, round trips, and a comparison with kio's headers."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema
from kio.serial import entity_reader, entity_writer

from harness.wire.apis import Api, api_name
from harness.wire.errors import WireError
from harness.wire.headers import (
    RequestHeader,
    is_flexible,
    read_request_header,
    read_response_header,
    write_request_header,
    write_response_header,
)
from harness.wire.messages import client_versions
from testkit.codes import raises_code

int16s = st.integers(-(2**15), 2**15 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
client_ids = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
headers = st.builds(RequestHeader, int16s, int16s, int32s, client_ids)


def test_request_headers_match_golden_bytes() -> None:
    old = RequestHeader(Api.METADATA, 1, 7, "me")
    assert write_request_header(old) == bytes.fromhex("0003 0001 00000007 0002") + b"me"
    flexible = RequestHeader(Api.METADATA, 9, -1, None)
    assert write_request_header(flexible) == bytes.fromhex("0003 0009 ffffffff ffff 00")


def test_response_headers_match_golden_bytes() -> None:
    assert write_response_header(Api.METADATA, 1, 7) == bytes.fromhex("00000007")
    assert write_response_header(Api.METADATA, 9, 7) == bytes.fromhex("00000007 00")


def test_the_answer_to_api_versions_never_has_tags() -> None:
    assert is_flexible(Api.API_VERSIONS, 3)
    assert write_response_header(Api.API_VERSIONS, 3, 7) == bytes.fromhex("00000007")
    assert read_response_header(bytes.fromhex("00000007 0000"), Api.API_VERSIONS, 3) == (7, 4)


@given(headers, st.binary(max_size=8))
def test_request_headers_round_trip_and_leave_the_body(header: RequestHeader, body: bytes) -> None:
    written = write_request_header(header)
    assert read_request_header(written + body) == (header, len(written))


@given(int16s, int16s, int32s, st.binary(max_size=8))
def test_response_headers_round_trip(api_key: int, version: int, correlation_id: int, body: bytes) -> None:
    written = write_response_header(api_key, version, correlation_id)
    assert read_response_header(written + body, api_key, version) == (correlation_id, len(written))


@given(st.sampled_from(list(Api)), st.data(), int32s, client_ids)
def test_request_headers_match_kio(
    api: Api, data: st.DataObject, correlation_id: int, client_id: str | None
) -> None:
    version = data.draw(st.integers(*client_versions(api)))
    schema: Any = load_request_schema(api, version).__header_schema__
    theirs = schema(
        request_api_key=int(api),
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    out = BytesIO()
    entity_writer(schema)(out, theirs)
    ours = write_request_header(RequestHeader(api, version, correlation_id, client_id))
    assert out.getvalue() == ours
    assert entity_reader(schema)(ours, 0)[:2] == (theirs, len(ours))


def test_unknown_tagged_fields_are_skipped() -> None:
    tags = bytes.fromhex("02 05 03 aabbcc 8f01 00")
    payload = write_request_header(RequestHeader(Api.METADATA, 9, 1, "c"))[:-1] + tags
    assert read_request_header(payload + b"body") == (RequestHeader(3, 9, 1, "c"), len(payload))
    response = bytes.fromhex("00000001") + tags
    assert read_response_header(response + b"body", Api.METADATA, 9) == (1, len(response))


@pytest.mark.parametrize(
    ("api_key", "version", "flexible"),
    [
        (Api.PRODUCE, 0, False),  # older than all versions that kio supports
        (Api.PRODUCE, 8, False),
        (Api.PRODUCE, 9, True),
        (Api.PRODUCE, 99, True),  # newer than all versions that kio supports
        (Api.SASL_HANDSHAKE, 1, False),
        (999, 0, True),  # an unknown API is assumed to be flexible
    ],
)
def test_flexible_versions_are_recognised(api_key: int, version: int, flexible: bool) -> None:
    assert is_flexible(api_key, version) is flexible


@given(headers)
def test_every_truncation_is_a_wire_error(header: RequestHeader) -> None:
    written = write_request_header(header)
    for end in range(len(written)):
        with pytest.raises(WireError):
            read_request_header(written[:end])


def test_a_field_out_of_range_is_a_wire_error() -> None:
    for header in (
        RequestHeader(2**15, 0, 0, None),
        RequestHeader(0, 0, 2**31, None),
        RequestHeader(0, 0, 0, "x" * 2**15),
        RequestHeader(0, 0, 0, "\ud800"),
    ):
        with pytest.raises(WireError):
            write_request_header(header)
    with pytest.raises(WireError):
        write_response_header(0, 0, -(2**31) - 1)


def test_a_client_id_with_invalid_utf_8_is_refused() -> None:
    with raises_code(WireError, "client-id-not-utf-8"):
        read_request_header(bytes.fromhex("0003 0001 00000007 0001 ff"))


def test_api_names_match_kafka() -> None:
    assert [api_name(key) for key in (0, 18, 22, 23, 24, 36)] == [
        "Produce",
        "ApiVersions",
        "InitProducerId",
        "OffsetForLeaderEpoch",
        "AddPartitionsToTxn",
        "SaslAuthenticate",
    ]
    assert api_name(123) == "Api(123)"


def test_a_client_id_with_a_negative_length_other_than_null_is_refused() -> None:
    null = write_request_header(RequestHeader(Api.METADATA, 1, 7, None))
    assert read_request_header(null)[0].client_id is None
    with raises_code(WireError, "client-id-cut-off"):
        read_request_header(null[:-2] + b"\xff\xfe")
