"""Serializers: Java's formats, and the values that they reject (PRD-ISP-04)."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.errors import SerializationError
from clients.reference.producer import serializers as to_bytes
from testkit.codes import raises_code

FORMATS: list[tuple[Any, Any, Any]] = [
    (to_bytes.StringSerializer, st.text(), bytes.decode),
    (to_bytes.BytesSerializer, st.binary(), bytes),
    (to_bytes.ByteBufferSerializer, st.binary().map(memoryview), memoryview),
    (to_bytes.UUIDSerializer, st.uuids(), lambda data: UUID(data.decode())),
    (to_bytes.BooleanSerializer, st.booleans(), lambda data: {b"\x00": False, b"\x01": True}[data]),
    (to_bytes.ShortSerializer, st.integers(-(2**15), 2**15 - 1), None),
    (to_bytes.IntegerSerializer, st.integers(-(2**31), 2**31 - 1), None),
    (to_bytes.LongSerializer, st.integers(-(2**63), 2**63 - 1), None),
    (to_bytes.DoubleSerializer, st.floats(allow_nan=False), lambda data: struct.unpack(">d", data)[0]),
    (to_bytes.FloatSerializer, st.floats(allow_nan=False, width=32), lambda d: struct.unpack(">f", d)[0]),
]


@given(st.data())
@pytest.mark.parametrize(("kind", "values", "read"), FORMATS, ids=lambda each: getattr(each, "__name__", ""))
def test_serializers_round_trip(kind, values, read, data):
    """PRD-ISP-04: the formats of Java's serializers."""
    value = data.draw(values)
    wire = kind().serialize("t", value, ())
    back = read(wire) if read else int.from_bytes(wire, "big", signed=True)
    assert back == value
    assert kind().serialize("t", None, ()) is None


def test_bytes_are_those_of_java():
    """PRD-ISP-04: golden bytes."""
    said = {
        to_bytes.IntegerSerializer: (-2, "fffffffe"),
        to_bytes.LongSerializer: (258, "0000000000000102"),
        to_bytes.DoubleSerializer: (-1.5, "bff8000000000000"),
        to_bytes.StringSerializer: ("h\u00e9\ud800", "68c3a93f"),
        to_bytes.UUIDSerializer: (UUID(int=1), b"00000000-0000-0000-0000-000000000001".hex()),
    }
    for kind, (value, expected) in said.items():
        assert kind().serialize("t", value, ()).hex() == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (to_bytes.StringSerializer, b"x"),
        (to_bytes.BytesSerializer, "x"),
        (to_bytes.IntegerSerializer, 2**31),
        (to_bytes.IntegerSerializer, True),
        (to_bytes.LongSerializer, 1.0),
        (to_bytes.DoubleSerializer, 1),
        (to_bytes.FloatSerializer, 1e300),
        (to_bytes.UUIDSerializer, "x"),
    ],
)
def test_wrong_type_is_a_serialization_error(kind, value):
    """PRD-ISP-04."""
    with raises_code(SerializationError, "not-serializable", serializer=kind.__name__):
        kind().serialize("t", value, ())


@pytest.mark.parametrize("kind", to_bytes.JAVA_SERIALIZERS.values())
def test_no_serializer_takes_an_object(kind):
    with raises_code(SerializationError, "not-serializable"):
        kind().serialize("t", object(), ())


def configured(is_key: bool = False, **settings: Any) -> Any:
    made = to_bytes.StringSerializer()
    made.configure({name.replace("_", "."): value for name, value in settings.items()}, is_key=is_key)
    return made


def test_encoding_of_the_key_or_value_precedes_the_common_one():
    """PRD-ISP-04."""
    both = {"serializer_encoding": "UTF-16LE", "key_serializer_encoding": "ISO-8859-1"}
    assert configured(is_key=True, **both).serialize("t", "\xe9", ()) == b"\xe9"
    assert configured(**both).serialize("t", "\xe9", ()) == b"\xe9\x00"
    assert configured().serialize("t", "\xe9", ()) == b"\xc3\xa9"
    assert configured(serializer_encoding=7).serialize("t", "\xe9", ()) == b"\xc3\xa9"
    with pytest.raises(ValueError, match="unknown"):
        configured(serializer_encoding="KLINGON-1")
