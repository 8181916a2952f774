"""Text encodings under the names and rules of Java's charsets, for serializers and deserializers of text.

Java replaces what an encoding cannot express by a question mark, and invalid bytes by U+FFFD. Its UTF-16 writes a
byte-order mark and then big-endian units, and its UTF-32 writes big-endian units without a mark. It reads both after a
mark in the order of the mark. Python's are little-endian on most machines.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DEFAULT = "UTF-8"
_BIG_ENDIAN = {"utf-16": "utf-16-be", "utf-32": "utf-32-be"}
_READ_MARKS = {
    "utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE),
    "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE),
}


@dataclass(frozen=True, slots=True)
class Encoding:
    """One encoding: ``encode`` and ``decode`` never fail. ``family`` is Python's name of it."""

    name: str
    codec: str
    family: str
    mark: bytes = b""

    @classmethod
    def named(cls, name: str) -> Encoding:
        """Return the encoding of a name. Raise ValueError if it is unknown, or no encoding of text."""
        try:
            info = codecs.lookup(name)
            "".encode(info.name)
        except (LookupError, ValueError):
            raise ValueError(f"the encoding {name!r} is unknown") from None
        codec = _BIG_ENDIAN.get(info.name, info.name)
        return cls(name, codec, info.name, codecs.BOM_UTF16_BE if info.name == "utf-16" else b"")

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text."""
        return self.mark + text.encode(self.codec, errors="replace") if text else b""

    def decode(self, data: bytes) -> str:
        """Return the text of bytes. UTF-16 and UTF-32 follow a byte-order mark, and are big-endian without one."""
        if data.startswith(_READ_MARKS.get(self.family, ())):
            return data.decode(self.family, errors="replace")
        return data.decode(self.codec, errors="replace")


def configured(settings: Mapping[str, Any], kind: str, *, is_key: bool) -> Encoding:
    """Return the encoding that settings choose for a ``kind``, which is serializer or deserializer.

    That of the key or the value comes before the common one. As in Java, only text counts. Raise ValueError if the
    encoding is unknown.
    """
    chosen = settings.get(f"{'key' if is_key else 'value'}.{kind}.encoding")
    if chosen is None:
        chosen = settings.get(f"{kind}.encoding")
    return Encoding.named(chosen if isinstance(chosen, str) else DEFAULT)
