"""The bucket of a trial: which of a table's files has its rows.

Spark joins and groups bucketed tables by ``trial`` without a shuffle, but only if the files follow its own hash. This
is Spark's Murmur3 (32 bits, seed 42) of a string: whole words first, then each remaining byte, signed, as a word of its
own.
"""

from __future__ import annotations

#: The number of trials for which a further bucket is worth its file and its task.
TRIALS_PER_BUCKET = 64
_SEED = 42
_MASK = 0xFFFFFFFF


def buckets_for(trials: int) -> int:
    """Return the number of buckets for this number of trials."""
    return max(1, -(-trials // TRIALS_PER_BUCKET))


def bucket_of(trial: str, buckets: int) -> int:
    """Return the bucket of a trial, as Spark computes it."""
    return _signed(murmur3(trial.encode())) % buckets


def murmur3(data: bytes) -> int:
    """Return the hash of Spark's ``hash`` function, without its sign."""
    whole = len(data) & ~3
    h = _SEED
    for at in range(0, whole, 4):
        h = _mix(h, int.from_bytes(data[at : at + 4], "little"))
    for byte in data[whole:]:
        h = _mix(h, (byte - 256 if byte > 127 else byte) & _MASK)
    h ^= len(data)
    h = (h ^ (h >> 16)) * 0x85EBCA6B & _MASK
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & _MASK
    return h ^ (h >> 16)


def _mix(h: int, word: int) -> int:
    word = word * 0xCC9E2D51 & _MASK
    word = _rotated(word, 15) * 0x1B873593 & _MASK
    return (_rotated(h ^ word, 13) * 5 + 0xE6546B64) & _MASK


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & _MASK


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word
