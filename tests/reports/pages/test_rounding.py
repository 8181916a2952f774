"""Times in whole numbers are those that ``round`` gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reports.pages.rounding import between_ms, in_ms, thousandths

#: Up to eleven days, every second time in the middle between two thousandths of a millisecond.
TIMES = st.lists(
    st.integers(-(10**12), 10**12).map(lambda us: us * 1_000 + 500) | st.integers(-(10**15), 10**15)
)


@given(TIMES)
def test_milliseconds_have_three_decimals_as_round_gives_them(durations_ns: list[int]) -> None:
    assert in_ms(thousandths(durations_ns)) == [round(ns / 1e6, 3) for ns in durations_ns]


@given(st.lists(st.tuples(st.integers(-(10**9), 10**9), st.integers(-100, 10**7))))
def test_differences_have_two_decimals_as_round_gives_them(pairs: list[tuple[int, int]]) -> None:
    starts, ends = [start for start, _ in pairs], [start + took for start, took in pairs]
    expected = [
        round(max(0.01, end - start), 2) for start, end in zip(in_ms(starts), in_ms(ends), strict=True)
    ]
    assert between_ms(starts, ends) == expected
