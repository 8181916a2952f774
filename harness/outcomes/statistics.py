"""Statistics of few trials: quantiles, intervals, and the sign test. Pure, and without assumptions about distributions.

Every interval is of 95 % confidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, takewhile
from math import ceil, comb, exp, inf, lgamma, log, sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

#: 95 % of a normal distribution is within this many standard deviations.
DEVIATIONS = 1.96
CONFIDENCE = 0.95
#: Fewer pairs can never be clear by the sign test.
FEWEST = 6
#: Up to this many throws, probabilities are exact; the numbers for more would be too long.
MAX_EXACT = 200


class Interval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float

    def overlaps(self, other: Interval) -> bool:
        """Return True if the two intervals have a value in common."""
        return self.low <= other.high and other.low <= self.high


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest of ``values`` that at least this share of them does not exceed (nearest rank).

    Raises ValueError if there are no values.
    """
    if not values:
        raise ValueError("no values")
    # The small term corrects the rounding of floats, such as in 0.07 * 100.
    return sorted(values)[max(0, ceil(share * len(values) - 1e-9) - 1)]


def wilson(count: float, of: float) -> Interval:
    """Return Wilson's interval for a share of which ``count`` in ``of`` independent cases were seen.

    Source: Wilson 1927. Without cases, it is all of 0 to 1.
    """
    if of <= 0:
        return Interval(0.0, 1.0)
    z2 = DEVIATIONS**2
    middle = (count + z2 / 2) / (of + z2)
    half = DEVIATIONS / (of + z2) * sqrt(max(0.0, count * (of - count) / of) + z2 / 4)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def clustered_share(counts: Sequence[tuple[int, int]]) -> Interval | None:
    """Return Wilson's interval for a share of records, given ``(count, of)`` in each trial.

    Records of one trial fail together, so they are not independent cases. The interval therefore calculates with the
    effective number of records: that many independent ones would have the variance that was seen between the trials
    (Kish 1965). It is between the number of trials and that of records. None if the trials say nothing about the
    variance: fewer than two of them, or a share of 0 or 1.
    """
    total, of = sum(count for count, _ in counts), sum(size for _, size in counts)
    trials = sum(size > 0 for _, size in counts)
    if trials < 2 or not 0 < total < of:
        return None
    share = total / of
    variance = trials / (trials - 1) * sum((count - size * share) ** 2 for count, size in counts) / of**2
    effective = share * (1 - share) / variance if variance > 0 else inf
    effective = min(float(of), max(float(trials), effective))
    return wilson(share * effective, effective)


def sign_test(ups: int, downs: int) -> float:
    """Return the probability of a split at least this uneven if up and down are equally likely (two-sided, exact).

    Equal pairs are not counted. With fewer than six pairs it is never below 5 %.
    """
    return min(1.0, 2 * sum(islice(_heads(ups + downs), min(ups, downs) + 1)))


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Return Student's interval for the mean, or None for fewer than six values, whose mean says little.

    The quantile of t is Cornish and Fisher's expansion, which is within 0.004 from five degrees of freedom on.
    """
    size = len(values)
    if size < FEWEST:
        return None
    z, freedom = NormalDist().inv_cdf((1 + CONFIDENCE) / 2), size - 1
    terms = (
        z,
        (z**3 + z) / (4 * freedom),
        (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2),
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3),
    )
    centre, half = fmean(values), sum(terms) * stdev(values) / sqrt(size)
    return Interval(centre - half, centre + half)


def median_interval(values: Sequence[float]) -> Interval | None:
    """Return an interval for the median of the distribution from which ``values`` were drawn, or None for too few.

    Its ends are two of the values (the interval of the sign test), so it needs at least six.
    """
    ordered, size = sorted(values), len(values)
    below = takewhile(lambda share: 2 * share <= 1 - CONFIDENCE, accumulate(_heads(size)))
    cut = sum(1 for _ in below) - 1
    return None if cut < 0 else Interval(ordered[cut], ordered[size - 1 - cut])


def _heads(throws: int) -> Iterator[float]:
    """Yield the probabilities of 0, 1, 2, ... heads in this many throws of a coin."""
    for heads in range(throws + 1):
        if throws <= MAX_EXACT:
            yield comb(throws, heads) / 2**throws
        else:
            ways = lgamma(throws + 1) - lgamma(heads + 1) - lgamma(throws - heads + 1)
            yield exp(ways - throws * log(2))


def discoveries(probabilities: Sequence[float], rate: float = 1 - CONFIDENCE) -> list[bool]:
    """Return which of several test results are not chance, so that at most ``rate`` of those named are expected to be.

    Among a hundred tests at 5 %, five would succeed by chance. The tests may depend on each other if their results tend
    to agree, like those of records acknowledged and given up. Sources: Benjamini and Hochberg 1995, Benjamini and
    Yekutieli 2001.
    """
    ordered = sorted(probabilities)
    limits = [p for rank, p in enumerate(ordered, 1) if p <= rate * rank / len(ordered)]
    limit = max(limits, default=-1.0)
    return [p <= limit for p in probabilities]
