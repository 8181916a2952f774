"""Serializers: convert keys and values to bytes, in the formats of the Java client's serializers.

A serializer is any object with ``serialize(topic, value, headers) -> bytes | None``. ``configure`` and ``close`` are
optional (plugins.py). ``None`` remains ``None``: a null key or value is not an empty one (PRD-ISP-08). A value of the
wrong type makes ``send`` raise SerializationError, and nothing is buffered (PRD-ISP-04).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import NoneType
from typing import Any, ClassVar, Protocol
from uuid import UUID

from clients.reference.common.encodings import DEFAULT, Encoding, configured
from clients.reference.errors import SerializationError
from clients.reference.producer.producer_batch import Headers


class Serializer(Protocol):
    """The interface of a serializer. ``headers`` are the record's, for formats that depend on them."""

    def serialize(self, topic: str, value: Any, headers: Headers) -> bytes | None:
        """Return the bytes of a value. May raise any exception if that is impossible."""


class TypedSerializer:
    """The base of serializers for one type. Unlike in Python, a bool is not a number."""

    type: ClassVar[type]

    def serialize(self, topic: str, value: Any, headers: Headers) -> bytes | None:
        """Return None for None. Raise SerializationError for the wrong type or a value outside the format's range."""
        if value is None:
            return None
        if not isinstance(value, self.type) or (isinstance(value, bool) and self.type is not bool):
            raise SerializationError(
                "not-serializable",
                "{serializer} takes {type}, not {given} (topic {topic!r})",
                serializer=type(self).__name__,
                type=self.type.__name__,
                given=type(value).__name__,
                topic=topic,
            )
        try:
            return self.encode(value)
        except (struct.error, OverflowError) as error:
            raise SerializationError(
                "not-serializable",
                "{serializer}: {value!r}: {why} (topic {topic!r})",
                serializer=type(self).__name__,
                value=value,
                why=error,
                topic=topic,
            ) from None

    def encode(self, value: Any) -> bytes:
        """Return the bytes of a value of the right type."""
        raise NotImplementedError


class BytesSerializer(TypedSerializer):
    """Bytes, unchanged (Java's ByteArraySerializer)."""

    type = bytes

    def encode(self, value: bytes) -> bytes:
        """Return the same object, not a copy."""
        return value


class ByteBufferSerializer(TypedSerializer):
    """The bytes of a memoryview, from its start to its end (Java's ByteBufferSerializer)."""

    type = memoryview

    def encode(self, value: memoryview) -> bytes:
        """Return a copy of the buffer's bytes."""
        return bytes(value)


class VoidSerializer(TypedSerializer):
    """None, for records that never have the key or value."""

    type = NoneType


class _TextSerializer(TypedSerializer):
    """The base of serializers that write text, in UTF-8 if the settings choose no encoding."""

    encoding = Encoding.named(DEFAULT)

    def configure(self, settings: Mapping[str, Any], is_key: bool = False) -> None:
        """Take the encoding of key.serializer.encoding or value.serializer.encoding, or serializer.encoding."""
        self.encoding = configured(settings, "serializer", is_key=is_key)


class StringSerializer(_TextSerializer):
    """Text. What the encoding cannot express, such as an unpaired surrogate, becomes a question mark, as in Java."""

    type = str

    def encode(self, value: str) -> bytes:
        """Return the bytes. Never fails."""
        return self.encoding.encode(value)


class UUIDSerializer(_TextSerializer):
    """A UUID as its 36 characters."""

    type = UUID

    def encode(self, value: UUID) -> bytes:
        """Return lower-case hexadecimal with four hyphens."""
        return self.encoding.encode(str(value))


class BooleanSerializer(TypedSerializer):
    """One byte, 0 or 1."""

    type = bool

    def encode(self, value: bool) -> bytes:
        """Return 1 for true."""
        return b"\x01" if value else b"\x00"


class _Packed(TypedSerializer):
    """A number in a fixed number of bytes, big-endian."""

    format: ClassVar[struct.Struct]

    def encode(self, value: Any) -> bytes:
        return self.format.pack(value)


class ShortSerializer(_Packed):
    """A signed 16-bit integer."""

    type, format = int, struct.Struct(">h")


class IntegerSerializer(_Packed):
    """A signed 32-bit integer."""

    type, format = int, struct.Struct(">i")


class LongSerializer(_Packed):
    """A signed 64-bit integer."""

    type, format = int, struct.Struct(">q")


class FloatSerializer(_Packed):
    """IEEE 754, single precision."""

    type, format = float, struct.Struct(">f")


class DoubleSerializer(_Packed):
    """IEEE 754, double precision."""

    type, format = float, struct.Struct(">d")


#: Java's serializers by class name. Its Bytes is a wrapper of bytes, which Python does not need.
JAVA_SERIALIZERS: Mapping[str, type[TypedSerializer]] = {
    f"org.apache.kafka.common.serialization.{name}Serializer": serializer
    for name, serializer in {
        "Boolean": BooleanSerializer,
        "ByteArray": BytesSerializer,
        "ByteBuffer": ByteBufferSerializer,
        "Bytes": BytesSerializer,
        "Double": DoubleSerializer,
        "Float": FloatSerializer,
        "Integer": IntegerSerializer,
        "Long": LongSerializer,
        "Short": ShortSerializer,
        "String": StringSerializer,
        "UUID": UUIDSerializer,
        "Void": VoidSerializer,
    }.items()
}
