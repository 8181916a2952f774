"""Record values that identify themselves: run, trial, producer, number, padding, checksum.

A value read back from a log shows who wrote it and whether it is intact, without any other table. Its text is
``kt1|run|trial|producer|n|padding|crc``, where ``crc`` is the CRC-32C of all preceding text in eight hex digits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import crc32c

MAGIC = "kt1"


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


@lru_cache(REMEMBERED)
def encode(identity: Identity, size_bytes: int) -> str:
    """Return the value for ``identity``, padded with dots to ``size_bytes`` if the parts are shorter."""
    head = "|".join((MAGIC, identity.run, identity.trial, identity.producer, str(identity.n)))
    body = f"{head}|{'.' * max(0, size_bytes - len(head) - 10)}|"
    return f"{body}{crc32c.crc32c(body.encode()):08x}"


def decode(value: str | None) -> Identity | None:
    """Return the identity in ``value``, or None if it is not from kafka-trial or its checksum is wrong."""
    return _decode(value) if len(value or "") <= _REMEMBERED_CHARS else _decode.__wrapped__(value)


@lru_cache(REMEMBERED)
def _decode(value: str | None) -> Identity | None:
    parts = (value or "").split("|", 7)
    if len(parts) != 7 or parts[0] != MAGIC or not parts[4].isdecimal() or len(parts[4]) > _MOST_DIGITS:
        return None
    body = (value or "")[:-8]
    if f"{crc32c.crc32c(body.encode()):08x}" != parts[6]:
        return None
    return Identity(parts[1], parts[2], parts[3], int(parts[4]))
