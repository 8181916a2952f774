"""Record values that testify for themselves: run, trial, producer, number, padding, checksum.

A value read back from a log says who wrote it and whether it is whole, with no table beside it.
The text is ``kt1|run|trial|producer|n|padding|crc``: ``crc`` is the CRC-32C of all that stands before it,
in eight hex digits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import crc32c

MAGIC = "kt1"


class Identity(NamedTuple):
    """Who wrote a value: ``n`` numbers the records of a producer from 0."""

    run: str
    trial: str
    producer: str
    n: int


#: A client may write any number, with a checksum that fits; what is longer is none of ours.
_MOST_DIGITS = 18

#: How many values are remembered: simulated trials, which all have the same values, make and read each of them once.
REMEMBERED = 4_096
#: Longer ones are not: they would outlive their trial.
_REMEMBERED_CHARS = 4_096


@lru_cache(REMEMBERED)
def encode(identity: Identity, size_bytes: int) -> str:
    """The value for ``identity``, padded with dots to ``size_bytes`` where the parts leave room."""
    head = "|".join((MAGIC, identity.run, identity.trial, identity.producer, str(identity.n)))
    body = f"{head}|{'.' * max(0, size_bytes - len(head) - 10)}|"
    return f"{body}{crc32c.crc32c(body.encode()):08x}"


def decode(value: str | None) -> Identity | None:
    """The identity in ``value``, or None if it is not one of ours or its checksum does not fit."""
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
