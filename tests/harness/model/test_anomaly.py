"""Messages are made from codes and parameters, and have a limited length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.anomaly import TOLD_CHARACTERS, TOLD_NAMES, Anomaly, ReasonKind
from harness.model.rows import MAX_SAMPLES
from harness.model.verdicts import Level

GAVE_UP = Anomaly("gave-up", "{count:record} given up after {worst_ms} ms ({errors}){told}", Level.SHOULD)


@pytest.mark.parametrize(("count", "words"), [(1, "1 record"), (2, "2 records"), (1_200, "1,200 records")])
def test_a_count_is_written_with_its_unit(count: int, words: str) -> None:
    found = GAVE_UP.found(count, worst_ms=5_000, errors=("A", "B"))
    assert found.message == f"{words} given up after 5,000 ms (A, B)"


def test_a_finding_has_its_code_and_parameters() -> None:
    found = GAVE_UP.found(3, requirement="R-1", worst_ms=5, errors=("A",), told=" so it said")
    assert (found.anomaly, found.level, found.requirement) == ("gave-up", "SHOULD", "R-1")
    assert found.params == {"worst_ms": 5, "errors": ("A",)}
    assert found.message.endswith("so it said")


def test_a_missing_parameter_is_an_error() -> None:
    with pytest.raises(KeyError):
        ReasonKind("stalled", "for {stalled_ms} ms").reason()


@given(st.text(), st.lists(st.text(), max_size=30))
def test_text_of_a_client_is_shortened(text: str, names: list[str]) -> None:
    found = GAVE_UP.found(1, worst_ms=1, errors=tuple(names), told=text)
    assert len(found.message) <= 60 + (TOLD_NAMES + 1) * (TOLD_CHARACTERS + 2)
    assert found.message.isprintable()


def test_samples_are_trimmed_and_the_count_is_not() -> None:
    found = GAVE_UP.found(100, ({"n": n} for n in range(100)), worst_ms=1, errors=())
    assert (found.count, len(found.samples)) == (100, MAX_SAMPLES)
