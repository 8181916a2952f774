"""Deserializers: Java's formats, what they refuse, and what happens to a record then (CSM-FET-09)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer import deserializers as of_bytes
from clients.reference.consumer.consumer_record import ConsumerRecord
from clients.reference.errors import SerializationError
from clients.reference.producer import serializers as to_bytes
from testkit.codes import raises_code

FORMATS: list[tuple[Any, Any, Any]] = [
    (to_bytes.StringSerializer, of_bytes.StringDeserializer, st.text()),
    (to_bytes.BytesSerializer, of_bytes.BytesDeserializer, st.binary()),
    (to_bytes.ByteBufferSerializer, of_bytes.ByteBufferDeserializer, st.binary().map(memoryview)),
    (to_bytes.UUIDSerializer, of_bytes.UUIDDeserializer, st.uuids()),
    (to_bytes.BooleanSerializer, of_bytes.BooleanDeserializer, st.booleans()),
    (to_bytes.ShortSerializer, of_bytes.ShortDeserializer, st.integers(-(2**15), 2**15 - 1)),
    (to_bytes.IntegerSerializer, of_bytes.IntegerDeserializer, st.integers(-(2**31), 2**31 - 1)),
    (to_bytes.LongSerializer, of_bytes.LongDeserializer, st.integers(-(2**63), 2**63 - 1)),
    (to_bytes.DoubleSerializer, of_bytes.DoubleDeserializer, st.floats(allow_nan=False)),
    (to_bytes.FloatSerializer, of_bytes.FloatDeserializer, st.floats(allow_nan=False, width=32)),
]


@given(st.data())
@pytest.mark.parametrize(("write", "read", "values"), FORMATS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_deserializer_reads_what_the_serializer_wrote(write, read, values, data):
    value = data.draw(values)
    assert read().deserialize("t", write().serialize("t", value, ()), ()) == value
    assert read().deserialize("t", None, ()) is None


def test_bytes_are_those_of_java():
    said = {
        of_bytes.IntegerDeserializer: (-2, "fffffffe"),
        of_bytes.LongDeserializer: (258, "0000000000000102"),
        of_bytes.DoubleDeserializer: (-1.5, "bff8000000000000"),
        of_bytes.StringDeserializer: ("h\u00e9\ufffd", "68c3a9ff"),
        of_bytes.UUIDDeserializer: (UUID(int=(1 << 64) + 2), b"0-0-1-0-2".hex()),
    }
    for kind, (value, given_hex) in said.items():
        assert kind().deserialize("t", bytes.fromhex(given_hex), ()) == value


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (of_bytes.IntegerDeserializer, b"123"),
        (of_bytes.ShortDeserializer, b""),
        (of_bytes.LongDeserializer, bytes(9)),
        (of_bytes.FloatDeserializer, bytes(8)),
        (of_bytes.DoubleDeserializer, bytes(4)),
        (of_bytes.BooleanDeserializer, b"\x02"),
        (of_bytes.BooleanDeserializer, b""),
        (of_bytes.UUIDDeserializer, b"{00000000-0000-0000-0000-000000000001}"),
        (of_bytes.UUIDDeserializer, b"\xff"),
        (of_bytes.VoidDeserializer, b""),
    ],
)
def test_other_bytes_are_a_serialization_error(kind, data):
    with raises_code(SerializationError, "not-deserializable", deserializer=kind.__name__):
        kind().deserialize("t", data, ())


@pytest.mark.parametrize(
    ("settings", "is_key", "data", "text"),
    [
        ({"key.deserializer.encoding": "ISO-8859-1"}, True, b"\xe9", "\u00e9"),
        ({"key.deserializer.encoding": "ISO-8859-1"}, False, b"\xc3\xa9", "\u00e9"),
        (
            {"value.deserializer.encoding": "latin1", "deserializer.encoding": "utf-8"},
            False,
            b"\xe9",
            "\u00e9",
        ),
        ({"deserializer.encoding": "UTF-16"}, True, b"\x00a", "a"),
        ({"deserializer.encoding": "UTF_16"}, True, b"\x00a", "a"),
        ({"deserializer.encoding": "UTF-16"}, True, b"\xff\xfea\x00", "a"),
        ({"deserializer.encoding": "UTF-16LE"}, True, b"a\x00", "a"),
        ({"deserializer.encoding": "UTF-32"}, True, b"\x00\x00\x00a", "a"),
        ({"deserializer.encoding": "UTF-32"}, True, b"\x00\x00\xfe\xff\x00\x00\x00a", "a"),
        ({"deserializer.encoding": "UTF-32"}, True, b"\xff\xfe\x00\x00a\x00\x00\x00", "a"),
        ({"deserializer.encoding": "UTF-32BE"}, True, b"\x00\x00\x00a", "a"),
        ({"deserializer.encoding": 3}, True, b"\xc3\xa9", "\u00e9"),
        ({}, True, b"\xc3\xa9", "\u00e9"),
    ],
)
def test_the_encoding_is_that_of_the_settings(settings, is_key, data, text):
    deserializer = of_bytes.StringDeserializer()
    deserializer.configure(settings, is_key=is_key)
    assert deserializer.deserialize("t", data, ()) == text


@pytest.mark.parametrize("encoding", ["no-such", "hex", "rot13", ""])
def test_an_encoding_that_does_not_exist_is_refused(encoding):
    with pytest.raises(ValueError):
        of_bytes.StringDeserializer().configure({"deserializer.encoding": encoding}, is_key=True)


def record(offset: int, key: bytes | None, value: bytes | None) -> ConsumerRecord:
    return ConsumerRecord("t", 0, offset, 0, "CreateTime", key, value, (("h", b""),), None, -1, -1)


def test_records_are_deserialized_in_order_up_to_the_first_that_fails():
    seen = []

    class Noting:
        def deserialize(self, topic, data, headers):
            seen.append((topic, data, headers))
            return int(data)

    records = [record(4, b"1", b"2"), record(5, None, None), record(6, b"3", b"x"), record(7, b"5", b"6")]
    both = of_bytes.Deserializers(Noting(), Noting())
    assert both
    done, error = both.apply(records)
    assert done == 2
    assert [(each.key, each.value) for each in records] == [(1, 2), (None, None), (b"3", b"x"), (b"5", b"6")]
    assert (error.partition, error.offset, error.params["part"]) == (("t", 0), 6, "value")
    assert isinstance(error.__cause__, ValueError)
    assert seen == [("t", data, (("h", b""),)) for data in (b"1", b"2", b"3", b"x")]


def test_without_deserializers_bytes_stay():
    records = [record(4, b"1", b"2")]
    assert not of_bytes.Deserializers()
    only_key = of_bytes.Deserializers(key=of_bytes.StringDeserializer())
    assert only_key.apply(records) == (1, None)
    assert (records[0].key, records[0].value) == ("1", b"2")
