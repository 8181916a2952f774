"""Deserializers: make keys and values of bytes, in the formats of the Java client's deserializers.

A deserializer is any object with ``deserialize(topic, data, headers)``. ``configure`` and ``close`` are optional
(plugins.py). It is not called for null, which stays None. Bytes that it refuses stop the partition at their record,
until the application seeks past it (CSM-FET-09).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol
from uuid import UUID

from msgspec.structs import force_setattr

from clients.reference.common.encodings import DEFAULT, Encoding, configured
from clients.reference.consumer.consumer_record import ConsumerRecord
from clients.reference.consumer.errors import RecordDeserializationError
from clients.reference.errors import SerializationError
from harness.wire.records.encoding import Headers

_UUID = re.compile("([0-9a-f]{1,8})-([0-9a-f]{1,4})-([0-9a-f]{1,4})-([0-9a-f]{1,4})-([0-9a-f]{1,12})", re.I)


class Deserializer(Protocol):
    """The interface of a deserializer. ``headers`` are the record's, for formats that depend on them."""

    def deserialize(self, topic: str, data: bytes, headers: Headers) -> Any:
        """Return the value of these bytes. May raise any exception if they have none."""


class TypedDeserializer:
    """The base of deserializers for one type."""

    def deserialize(self, topic: str, data: bytes | None, headers: Headers) -> Any:
        """Return None for None. Raise SerializationError for bytes that are not of the format."""
        if data is None:
            return None
        try:
            return self.decode(data)
        except (struct.error, ValueError) as error:
            raise SerializationError(
                "not-deserializable",
                "{deserializer} does not take a value of {count:,} bytes: {why} (topic {topic!r})",
                deserializer=type(self).__name__,
                count=len(data),
                why=error,
                topic=topic,
            ) from None

    def decode(self, data: bytes) -> Any:
        """Return the value. Raise ValueError or struct.error if the bytes are not of the format."""
        raise NotImplementedError


class BytesDeserializer(TypedDeserializer):
    """Bytes, unchanged (Java's ByteArrayDeserializer)."""

    def decode(self, data: bytes) -> bytes:
        """Return the same object, not a copy."""
        return data


class ByteBufferDeserializer(TypedDeserializer):
    """A memoryview of the bytes (Java's ByteBufferDeserializer)."""

    def decode(self, data: bytes) -> memoryview:
        """Return a view that cannot be written to."""
        return memoryview(data)


class _Text(TypedDeserializer):
    """Text in an encoding: UTF-8, or the one of ``key.deserializer.encoding``, ``value.deserializer.encoding`` or
    ``deserializer.encoding``, of which the last has the lowest rank.
    """

    encoding = Encoding.named(DEFAULT)

    def configure(self, settings: Mapping[str, Any], *, is_key: bool) -> None:
        """Read the encoding from the settings. Raise ValueError if there is no such encoding."""
        self.encoding = configured(settings, "deserializer", is_key=is_key)

    def text(self, data: bytes) -> str:
        """Return the text. Invalid bytes become U+FFFD, as in Java."""
        return self.encoding.decode(data)


class StringDeserializer(_Text):
    """Text in the configured encoding."""

    def decode(self, data: bytes) -> str:
        """Return the text. Never fails: invalid bytes are replaced."""
        return self.text(data)


class UUIDDeserializer(_Text):
    """A UUID as text. Leading zeros of its five groups may be missing, as in Java's UUID.fromString."""

    def decode(self, data: bytes) -> UUID:
        """Return the UUID. Raise ValueError for any other text."""
        groups = _UUID.fullmatch(self.text(data))
        if groups is None:
            raise ValueError("expected a UUID")
        return UUID(
            "".join(
                digits.zfill(size) for digits, size in zip(groups.groups(), (8, 4, 4, 4, 12), strict=True)
            )
        )


class BooleanDeserializer(TypedDeserializer):
    """One byte, 0 or 1."""

    def decode(self, data: bytes) -> bool:
        """Return True for 1. Raise ValueError for anything but 0 and 1."""
        if data not in (b"\x00", b"\x01"):
            raise ValueError("expected one byte, 0 or 1")
        return data == b"\x01"


class VoidDeserializer(TypedDeserializer):
    """Null only."""

    def decode(self, data: bytes) -> None:
        """Raise ValueError: any bytes are too many."""
        raise ValueError("expected null")


class _Packed(TypedDeserializer):
    """A number in a fixed number of bytes, big-endian."""

    format: ClassVar[struct.Struct]

    def decode(self, data: bytes) -> Any:
        return self.format.unpack(data)[0]


class ShortDeserializer(_Packed):
    """A signed 16-bit integer."""

    format = struct.Struct(">h")


class IntegerDeserializer(_Packed):
    """A signed 32-bit integer."""

    format = struct.Struct(">i")


class LongDeserializer(_Packed):
    """A signed 64-bit integer."""

    format = struct.Struct(">q")


class FloatDeserializer(_Packed):
    """IEEE 754, single precision."""

    format = struct.Struct(">f")


class DoubleDeserializer(_Packed):
    """IEEE 754, double precision."""

    format = struct.Struct(">d")


#: Java's deserializers by class name. Its Bytes is a wrapper of bytes, which Python does not need.
JAVA_DESERIALIZERS: Mapping[str, type[TypedDeserializer]] = {
    f"org.apache.kafka.common.serialization.{name}Deserializer": deserializer
    for name, deserializer in {
        "Boolean": BooleanDeserializer,
        "ByteArray": BytesDeserializer,
        "ByteBuffer": ByteBufferDeserializer,
        "Bytes": BytesDeserializer,
        "Double": DoubleDeserializer,
        "Float": FloatDeserializer,
        "Integer": IntegerDeserializer,
        "Long": LongDeserializer,
        "Short": ShortDeserializer,
        "String": StringDeserializer,
        "UUID": UUIDDeserializer,
        "Void": VoidDeserializer,
    }.items()
}


class Deserializers:
    """The deserializers of keys and values. None leaves the bytes as they are."""

    def __init__(self, key: Deserializer | None = None, value: Deserializer | None = None) -> None:
        self._key, self._value = key, value

    def __bool__(self) -> bool:
        return self._key is not None or self._value is not None

    def apply(self, records: Sequence[ConsumerRecord]) -> tuple[int, RecordDeserializationError | None]:
        """Replace the bytes in ``records`` by values, in order. Return the number of records done, and why it ended.

        A record whose key or value cannot be deserialized is unchanged, and so are those after it. The error is None
        if all were done.
        """
        for done, record in enumerate(records):
            part, topic, headers = "key", record.topic, record.headers
            key, value = record.key, record.value
            try:
                if self._key is not None and key is not None:
                    key = self._key.deserialize(topic, key, headers)
                part = "value"
                if self._value is not None and value is not None:
                    value = self._value.deserialize(topic, value, headers)
            except Exception as error:
                failed = RecordDeserializationError((topic, record.partition), record.offset, part, error)
                failed.__cause__ = error
                return done, failed
            force_setattr(record, "key", key)
            force_setattr(record, "value", value)
        return len(records), None
