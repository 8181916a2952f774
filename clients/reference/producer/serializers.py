"""Serializers: convert keys and values to bytes, in the formats of the Java client's serializers.

A serializer is any object with ``serialize(topic, value, headers) -> bytes | None``. ``configure`` and ``close`` are
optional (plugins.py). ``None`` remains ``None``: a null key or value is not an empty one (PRD-ISP-08). A value of the
wrong type makes ``send`` raise SerializationError, and nothing is buffered (PRD-ISP-04).
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, Protocol
from uuid import UUID

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


class StringSerializer(TypedSerializer):
    """Text as UTF-8. An unpaired surrogate becomes a question mark, as in Java."""

    type = str

    def encode(self, value: str) -> bytes:
        """Return the UTF-8 bytes. Never fails: what UTF-8 cannot encode is replaced."""
        return value.encode("utf-8", errors="replace")


class UUIDSerializer(TypedSerializer):
    """A UUID as its 36 characters."""

    type = UUID

    def encode(self, value: UUID) -> bytes:
        """Return lower-case hexadecimal with four hyphens, in ASCII."""
        return str(value).encode()


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
