"""The shape of a load: sizes, keys, rate, bursts, producers and topics, as pure functions of a record's number.

Nothing is stored per record. A reader of the log knows the size, key, producer and topic of each record from its number
and from this specification, whose ``draw`` is the seed of everything that is drawn.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

import msgspec

#: The name of the first producer; the others are ``p2``, ``p3``, and so on.
FIRST = "p1"
_MASK = 2**64 - 1
#: A size and a key of one record are drawn independently.
_SIZE, _KEY, _KEY_ORDER = 1, 2, 3


class SizeRange(msgspec.Struct, frozen=True, tag="range", tag_field="of"):
    """Sizes between two bounds, all equally likely."""

    low: int
    high: int


class SizeLognormal(msgspec.Struct, frozen=True, tag="lognormal", tag_field="of"):
    """Sizes with this median whose logarithms are normally distributed, cut off at the bounds.

    ``sigma_percent`` is the standard deviation of the natural logarithm, in hundredths.
    """

    median: int
    sigma_percent: int
    low: int
    high: int


class SizeChoices(msgspec.Struct, frozen=True, tag="choices", tag_field="of"):
    """A few sizes, each ``(bytes, weight)``."""

    choices: tuple[tuple[int, int], ...]


Sizes = SizeRange | SizeLognormal | SizeChoices


class Load(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the records of a load differ, when they are due, and who sends them where.

    ``sizes`` is null if all records have the workload's ``value_bytes``. ``rate`` is in records per second, over all
    producers; 0 means a command every ``interval_ms``. Of the records due in each ``burst_every_ms``, ``burst`` come at
    once and the others evenly. ``skew_percent`` is the exponent of the keys' Zipf distribution, in hundredths; 0 means
    keys in turn. ``payloads`` are the bodies of the values, in turn, instead of padding.
    """

    draw: int = 0
    sizes: Sizes | None = None
    rate: int = 0
    burst: int = 0
    burst_every_ms: int = 1_000
    skew_percent: int = 0
    producers: int = 1
    topics: int = 1
    payloads: tuple[str, ...] = ()

    @property
    def is_split(self) -> bool:
        """True if there are several producers or several topics."""
        return self.producers > 1 or self.topics > 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the producers, which are also their client ids."""
        return tuple(f"p{number}" for number in range(1, self.producers + 1))


def topic_names(load: Load, base: str) -> tuple[str, ...]:
    """Return the topics of a trial whose first topic is ``base``."""
    return (base, *(f"{base}-t{number}" for number in range(2, load.topics + 1)))


def drawn_size(sizes: Sizes, draw: int, n: int) -> int:
    """Return the size in bytes of record ``n``."""
    match sizes:
        case SizeRange(low, high):
            return low + _mixed(draw, n, _SIZE) % (high - low + 1)
        case SizeLognormal(median, sigma_percent, low, high):
            deviation = _normal(draw, n) * sigma_percent / 100
            exact = median * math.exp(min(deviation, 30.0))
            return min(max(round(exact), low), high)
        case SizeChoices(choices):
            total = sum(weight for _, weight in choices)
            point = _mixed(draw, n, _SIZE) % total
            ends = list(accumulate(weight for _, weight in choices))
            return choices[bisect_right(ends, point)][0]


def bounds(sizes: Sizes) -> tuple[int, int]:
    """Return the smallest and the largest size that can be drawn."""
    match sizes:
        case SizeChoices(choices):
            possible = [size for size, weight in choices if weight]
            return min(possible), max(possible)
        case SizeRange(low, high) | SizeLognormal(_, _, low, high):
            return low, high


def mean_bytes(sizes: Sizes) -> int:
    """Return the mean of the sizes, rounded up."""
    match sizes:
        case SizeRange(low, high):
            return -(-(low + high) // 2)
        case SizeLognormal(median, sigma_percent, low, high):
            mean = median * math.exp(min((sigma_percent / 100) ** 2 / 2, 30.0))
            return min(max(math.ceil(mean), low), high)
        case SizeChoices(choices):
            total = sum(weight for _, weight in choices)
            return -(-sum(size * weight for size, weight in choices) // total)


def drawn_key(keys: int, load: Load, n: int) -> int:
    """Return the index of record ``n``'s key, from 0: in turn without skew, else lower indexes more often."""
    if not load.skew_percent:
        return n % keys
    point = _mixed(load.draw, n, _KEY) / 2**64
    return min(bisect_right(_shares(keys, load.skew_percent), point), keys - 1)


@lru_cache(maxsize=4)
def _shares(keys: int, skew_percent: int) -> tuple[float, ...]:
    """Return the cumulative shares of the keys of a Zipf distribution."""
    ends = list(accumulate((rank + 1) ** (-skew_percent / 100) for rank in range(keys)))
    return tuple(end / ends[-1] for end in ends)


def due_ms(load: Load, n: int) -> int:
    """Return when record ``n`` is due, in milliseconds since the load began, for a load with a rate."""
    if not load.burst:
        return n * 1_000 // load.rate
    # The k-th period begins with the record that is due at its beginning, so the mean rate is exact.
    period = (n * 1_000 // load.rate) // load.burst_every_ms
    begins = period * load.burst_every_ms
    first = -(-begins * load.rate // 1_000)
    after = -(-(begins + load.burst_every_ms) * load.rate // 1_000)
    place, even = n - first, after - first - load.burst
    if place < load.burst or even <= 0:
        return begins
    return begins + (place - load.burst + 1) * load.burst_every_ms // (even + 1)


def _normal(draw: int, n: int) -> float:
    """Return a number of the standard normal distribution (Box-Muller)."""
    radius = (_mixed(draw, n, _SIZE) + 1) / (2**64 + 1)
    angle = _mixed(draw, n, _KEY_ORDER) / 2**64
    return math.sqrt(-2 * math.log(radius)) * math.cos(2 * math.pi * angle)


def _mixed(draw: int, n: int, use: int) -> int:
    """Return 64 bits that depend on all of the arguments (SplitMix64)."""
    mixed = (draw * 0x9E3779B97F4A7C15 + n * 0xBF58476D1CE4E5B9 + use * 0x94D049BB133111EB) & _MASK
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & _MASK
    return mixed ^ (mixed >> 31)
