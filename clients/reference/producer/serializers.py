"""Serializers: what the application calls keys and values, as bytes, in the formats of the Java client's serializers.

A serializer is any object with ``serialize(topic, value, headers) -> bytes | None``; ``configure`` and ``close`` are
optional (plugins.py). ``None`` stays ``None``: a null key or value is not an empty one (PRD-ISP-08). A value that is
not of the serializer's type raises SerializationError out of ``send``, and nothing is buffered (PRD-ISP-04).
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, Protocol
from uuid import UUID

from clients.reference.errors import SerializationError
from clients.reference.producer.producer_batch import Headers


class Serializer(Protocol):
    """The port; ``headers`` are the record's, for formats that look at them."""

    def serialize(self, topic: str, value: Any, headers: Headers) -> bytes | None:
        """The bytes of a value; raises anything where it cannot."""


class TypedSerializer:
    """One type of values; a bool is no number here, whatever Python says."""

    type: ClassVar[type]

    def serialize(self, topic: str, value: Any, headers: Headers) -> bytes | None:
        """None for None; raises SerializationError for a value of another type or beyond the format's range."""
        if value is None:
            return None
        if not isinstance(value, self.type) or (isinstance(value, bool) and self.type is not bool):
            raise SerializationError(
                f"{type(self).__name__} takes {self.type.__name__}, not {type(value).__name__} (topic {topic!r})"
            )
        try:
            return self.encode(value)
        except (struct.error, OverflowError) as error:
            raise SerializationError(f"{type(self).__name__}: {value!r}: {error} (topic {topic!r})") from None

    def encode(self, value: Any) -> bytes:
        """The bytes of a value of the right type."""
        raise NotImplementedError


class BytesSerializer(TypedSerializer):
    """Bytes as they are (Java's ByteArraySerializer)."""

    type = bytes

    def encode(self, value: bytes) -> bytes:
        """The same object, not a copy."""
        return value


class StringSerializer(TypedSerializer):
    """Text as UTF-8; half a surrogate pair becomes a question mark, as in Java."""

    type = str

    def encode(self, value: str) -> bytes:
        """Never fails: what UTF-8 cannot say is replaced."""
        return value.encode("utf-8", errors="replace")


class UUIDSerializer(TypedSerializer):
    """A UUID as its 36 characters."""

    type = UUID

    def encode(self, value: UUID) -> bytes:
        """Lower-case hexadecimal with four hyphens, in ASCII."""
        return str(value).encode()


class BooleanSerializer(TypedSerializer):
    """One byte, 0 or 1."""

    type = bool

    def encode(self, value: bool) -> bytes:
        """1 stands for true."""
        return b"\x01" if value else b"\x00"


class _Packed(TypedSerializer):
    """A number in a fixed number of bytes, most significant first."""

    format: ClassVar[struct.Struct]

    def encode(self, value: Any) -> bytes:
        return self.format.pack(value)


class ShortSerializer(_Packed):
    """A whole number of 16 bits, signed."""

    type, format = int, struct.Struct(">h")


class IntegerSerializer(_Packed):
    """A whole number of 32 bits, signed."""

    type, format = int, struct.Struct(">i")


class LongSerializer(_Packed):
    """A whole number of 64 bits, signed."""

    type, format = int, struct.Struct(">q")


class FloatSerializer(_Packed):
    """IEEE 754, single precision."""

    type, format = float, struct.Struct(">f")


class DoubleSerializer(_Packed):
    """IEEE 754, double precision."""

    type, format = float, struct.Struct(">d")
