"""Record values that identify themselves: run, trial, producer, number, padding, checksum.

A value read back from a log shows who wrote it and whether it is intact, without any other table. Its text is
``kt1|run|trial|producer|n|body|crc``, where ``crc`` is the CRC-32C of all preceding text in eight hex digits. The body
is padding, or text that the user chose, which may contain the separator.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import crc32c

MAGIC = "kt1"


#: Evidence keeps a value up to this size whole, and of a longer one its identity and its size.
SHORT_BYTES = 1_024


class Identity(NamedTuple):
    """The writer of a value. ``n`` numbers the records of a producer from 0."""

    run: str
    trial: str
    producer: str
    n: int


#: A longer number, even with a valid checksum, was not written by the harness.
_MOST_DIGITS = 18

#: The number of cached values. All simulated trials have the same values, so each is made and read once.
REMEMBERED = 4_096
#: Longer values are not cached, since they would outlive their trial.
_REMEMBERED_CHARS = 4_096


def encode(identity: Identity, size_bytes: int, chosen: str = "") -> str:
    """Return the value for ``identity``, padded with dots to ``size_bytes`` if the parts are shorter.

    With a ``chosen`` body, there is no padding.
    """
    is_short = size_bytes <= _REMEMBERED_CHARS and len(chosen) <= _REMEMBERED_CHARS
    return (_encode if is_short else _encode.__wrapped__)(identity, size_bytes, chosen)


@lru_cache(REMEMBERED)
def _encode(identity: Identity, size_bytes: int, chosen: str) -> str:
    head = "|".join((MAGIC, identity.run, identity.trial, identity.producer, str(identity.n)))
    body = f"{head}|{chosen or '.' * max(0, size_bytes - len(head) - 10)}|"
    return f"{body}{crc32c.crc32c(body.encode()):08x}"


def kept(data: bytes | None) -> tuple[str | None, int | None]:
    """Return a value read back from a log as text, and None; of a long value, its short form and its size.

    A long value is checked here, so that the evidence of a large load fits into memory.
    """
    if data is None:
        return None, None
    value = data.decode(errors="backslashreplace")
    if len(data) <= SHORT_BYTES:
        return value, None
    identity = decode(value)
    return (value[:SHORT_BYTES] if identity is None else encode(identity, 0)), len(data)


def decode(value: str | None) -> Identity | None:
    """Return the identity in ``value``, or None if it is not from kafka-trial or its checksum is wrong."""
    return _decode(value) if len(value or "") <= _REMEMBERED_CHARS else _decode.__wrapped__(value)


@lru_cache(REMEMBERED)
def _decode(value: str | None) -> Identity | None:
    body, _, crc = (value or "").rpartition("|")
    parts = body.split("|", 5)
    if len(parts) != 6 or parts[0] != MAGIC or not parts[4].isdecimal() or len(parts[4]) > _MOST_DIGITS:
        return None
    if f"{crc32c.crc32c(f'{body}|'.encode()):08x}" != crc:
        return None
    return Identity(parts[1], parts[2], parts[3], int(parts[4]))
