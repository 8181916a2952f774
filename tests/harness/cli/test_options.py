"""The options -j and --shard, and durations: how they are read, and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.options import MAX_JOBS, jobs_of, shard_of
from harness.model.errors import UsageError
from harness.model.units import duration_s, told_s
from testkit.codes import raises_code


@pytest.mark.parametrize("text", ["0", "33", "-1", "many", "", "1.5", "٣"])
def test_an_invalid_number_of_jobs_is_refused(text):
    with raises_code(UsageError, "jobs-value", max_jobs=32, auto="auto"):
        jobs_of(text)


def test_a_number_of_jobs_is_read():
    assert jobs_of("7") == 7 and 1 <= jobs_of("auto") <= MAX_JOBS


@pytest.mark.parametrize("text", ["3/2", "0/2", "1", "a/b", "1/", "/2", "1/2/3", "-1/2"])
def test_an_invalid_shard_is_refused(text):
    with raises_code(UsageError, "shard-value"):
        shard_of(text)


def test_a_shard_is_read():
    assert shard_of("2/3") == (2, 3) and shard_of(None) is None


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_durations_are_read(hours, minutes, seconds):
    assert duration_s(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds
    assert duration_s(f"{seconds}s") == seconds
    assert duration_s(f"{hours}d") == hours * 86_400


@pytest.mark.parametrize("text", ["", "10", "10x", "1s1m", "-1s", "1.5h", "1h 5m"])
def test_an_invalid_duration_is_refused(text):
    with raises_code(UsageError, "not-a-duration"):
        duration_s(text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (125, "2 min 5 s"),
        (7_500, "2 h 5 min"),
        (40 * 86_400, "40 d"),
    ],
)
def test_durations_are_shown_in_two_units_at_most(seconds, words):
    assert told_s(seconds) == words
