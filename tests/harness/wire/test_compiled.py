"""Compiled readers, writers and makers: every class of kio is handled as kio and Python handle it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import MISSING, FrozenInstanceError, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from types import NoneType, UnionType
from typing import Any, get_args, get_origin
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader as kio_reader
from kio.serial import entity_writer as kio_writer

from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.messages import (
    client_versions,
    decode_request,
    encode_request,
    encode_response,
    make,
    maker,
    message_class,
    nested,
)
from harness.wire.readers import entity_reader
from harness.wire.writers import entity_writer
from testkit.codes import raises_code

#: A value of each type that is not zero and differs in any two of its bytes.
VALUES: dict[str, Any] = {
    "bool": True,
    "int8": -0x12,
    "int16": 0x1234,
    "int32": -0x12345678,
    "int64": 0x123456789ABCDEF0,
    "uint16": 0xFEDC,
    "float64": -1.5,
    "string": "å" * 70,  # 140 bytes, whose length takes two bytes in flexible versions
    "bytes": bytes(range(200)),
    "records": bytes(range(256)) * 80,  # 20480 bytes, whose length takes three bytes
    "error_code": ErrorCode.fenced_leader_epoch,
    "uuid": UUID(int=0x123456789ABCDEF0123456789ABCDEF0),
    "timedelta_i32": timedelta(milliseconds=-1_234_567),
    "timedelta_i64": timedelta(milliseconds=123_456_789_012),
    "datetime_i64": datetime(2024, 2, 29, 12, 34, 56, 789_000, tzinfo=UTC),
}


def without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) is UnionType:
        return next(part for part in get_args(annotation) if part is not NoneType), True
    return annotation, False


def filled(entity: Any, *, full: bool) -> Any:
    """Return a message with a value in each field; if not ``full``, with null, nothing or the default if allowed."""
    values = {}
    for field in fields(entity):
        annotation, nullable = without_none(field.type)
        is_array = get_origin(annotation) is tuple
        item = without_none(get_args(annotation)[0])[0] if is_array else annotation
        if not full and "tag" in field.metadata and field.default is not MISSING:
            values[field.name] = field.default
        elif not full and nullable:
            values[field.name] = None
        elif not full and is_array:
            values[field.name] = ()
        else:
            one = filled(item, full=full) if is_dataclass(item) else VALUES[field.metadata["kafka_type"]]
            values[field.name] = (one, one) if is_array else one
    return entity(**values)


def classes(api: Api) -> Iterator[Any]:
    lowest, highest = client_versions(api)
    for version in range(lowest, highest + 1):
        yield message_class(api, version, "request")
        yield message_class(api, version, "response")


def samples(api: Api) -> Iterator[Any]:
    for entity in classes(api):
        yield filled(entity, full=True)
        yield filled(entity, full=False)


def kio_written(message: Any) -> bytes:
    out = BytesIO()
    kio_writer(type(message))(out, message)
    return out.getvalue()


def elements_of(value: Any) -> int:
    """Return the number of elements in all arrays of a message, or of a value in it."""
    if is_dataclass(value):
        return sum(elements_of(getattr(value, field.name)) for field in fields(value))
    return len(value) + sum(map(elements_of, value)) if isinstance(value, tuple) else 0


def test_every_version_is_written_and_read_like_kio(api: Api) -> None:
    for message in samples(api):
        entity: Any = type(message)
        written = entity_writer(entity)(message)
        assert written == kio_written(message), message
        assert (message, len(written)) == kio_reader(entity)(written, 0)
        for data in (written, memoryview(written), bytearray(written)):
            assert entity_reader(entity)(data, 0) == (message, len(written), elements_of(message))


def test_every_truncation_is_detected(api: Api) -> None:
    for entity in classes(api):
        whole = entity_writer(entity)(filled(entity, full=False))
        for end in range(len(whole)):
            try:
                _, stop, _ = entity_reader(entity)(whole[:end], 0)
            except WireError as error:
                assert 0 <= error.elements <= end
                continue
            assert stop > end, f"{entity} takes the first {end} of its {len(whole)} bytes"


def test_make_equals_the_constructor(api: Api) -> None:
    for message in samples(api):
        values = {field.name: getattr(message, field.name) for field in fields(message)}
        made = make(type(message), **values, surplus=1)
        assert made == message
        assert (type(made), repr(made), hash(made)) == (type(message), repr(message), hash(message))
        needed = [field.name for field in fields(message) if field.default is MISSING]
        defaulted = maker(type(message))(**{name: values[name] for name in needed})
        assert defaulted == type(message)(**{name: values[name] for name in needed})
        for name in needed:
            with pytest.raises(TypeError, match=name):
                make(type(message), **{key: value for key, value in values.items() if key != name})


def test_messages_are_frozen_and_can_be_pickled() -> None:
    entity: Any = message_class(Api.HEARTBEAT, 4, "request")
    message = make(entity, group_id="g", generation_id=1, member_id="m", group_instance_id=None)
    read, _, _ = entity_reader(entity)(entity_writer(entity)(message), 0)
    for value in (message, read):
        with pytest.raises(FrozenInstanceError):
            value.group_id = "h"
        assert pickle.loads(pickle.dumps(value)) == message


def test_nested_classes_are_found_by_name() -> None:
    produce = message_class(Api.PRODUCE, 9, "request")
    partition = nested(produce, "PartitionProduceData")(index=1, records=None)
    topic = nested(produce, "TopicProduceData")(name="t", partition_data=(partition,))
    message = make(produce, acks=1, timeout=timedelta(0), topic_data=(topic,), topic_id=None)
    assert entity_reader(produce)(entity_writer(produce)(message), 0)[0] == message
    with pytest.raises(AttributeError):
        nested(produce, "PartitionProduceDatum")


def test_an_unknown_error_code_is_read_and_written() -> None:
    entity: Any = message_class(Api.HEARTBEAT, 4, "response")
    message = entity(throttle_time=timedelta(0), error_code=999)
    written = entity_writer(entity)(message)
    assert written == bytes.fromhex("00000000 03e7 00")
    assert entity_reader(entity)(written, 0) == (message, 7, 0)


@pytest.mark.parametrize("field", ["group_id", "generation_id"])
def test_null_is_refused_for_a_required_value(field: str) -> None:
    entity: Any = message_class(Api.HEARTBEAT, 4, "request")
    values = {"group_id": "g", "generation_id": 1, "member_id": "m", "group_instance_id": None, field: None}
    with raises_code(WireError, "message-not-writable", entity="HeartbeatRequest"):
        encode_request(entity(**values), 1, None)


@pytest.mark.parametrize("version", [8, 9])
def test_a_null_array_is_written_but_not_read(version: int) -> None:
    message = make(
        message_class(Api.PRODUCE, version, "request"), acks=1, timeout=timedelta(0), topic_data=None
    )
    frame = encode_request(message, 1, None)
    assert frame.endswith(kio_written(message))
    with raises_code(WireError, "null-not-allowed"):
        decode_request(frame[4:])


@given(st.integers(-(2**50), 2**50))
def test_durations_are_written_like_kio(microseconds: int) -> None:
    entity: Any = message_class(Api.PUSH_TELEMETRY, 0, "response")
    message = entity(throttle_time=timedelta(microseconds=microseconds), error_code=ErrorCode.none)
    try:
        expected = kio_written(message)
    except Exception:
        with raises_code(WireError, "message-not-writable"):
            encode_response(message, 1)
    else:
        assert encode_response(message, 1).endswith(expected)


def test_a_tagged_field_equal_to_its_default_is_omitted() -> None:
    response: Any = message_class(Api.PRODUCE, 10, "response")
    leader = nested(response, "LeaderIdAndEpoch")(leader_id=int("-1"), leader_epoch=int("-1"))
    values = {"index": 1, "error_code": ErrorCode.none, "base_offset": 0, "log_append_time": None}
    values |= {"log_start_offset": 0, "record_errors": (), "error_message": None}
    part: Any = nested(response, "PartitionProduceResponse")
    assert entity_writer(part)(part(**values, current_leader=leader)) == entity_writer(part)(part(**values))
