from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.toxics import HARMLESS, RANGES, checked
from harness.model.errors import UsageError
from testkit.codes import raises_code


@st.composite
def toxics(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    kind = draw(st.sampled_from(sorted(RANGES)))
    values = {name: draw(st.integers(low, high)) for name, (low, high) in RANGES[kind].items()}
    if kind == "slicer":
        values["size_variation"] %= values["average_size"]
    return kind, values


@given(toxics())
def test_values_in_range_are_sent_unchanged(toxic: tuple[str, dict[str, int]]) -> None:
    kind, values = toxic
    assert checked(kind, "upstream", 1.0, values) == values


@given(toxics(), st.data())
def test_every_attribute_is_sent(toxic: tuple[str, dict[str, int]], data: st.DataObject) -> None:
    kind, values = toxic
    left_out = data.draw(st.sampled_from(sorted(values)))
    with raises_code(UsageError, "toxic-attributes"):
        checked(kind, "upstream", 1.0, {name: value for name, value in values.items() if name != left_out})
    with raises_code(UsageError, "toxic-attributes"):
        checked(kind, "upstream", 1.0, values | {"unknown": 0})


@given(toxics(), st.data())
def test_values_out_of_range_are_never_sent(toxic: tuple[str, dict[str, int]], data: st.DataObject) -> None:
    kind, values = toxic
    name = data.draw(st.sampled_from(sorted(values)))
    low, high = RANGES[kind][name]
    value = data.draw(st.integers(max_value=low - 1) | st.integers(min_value=high + 1))
    with raises_code(UsageError, "toxic-attribute-range", name=name, kind=kind, low=low, high=high):
        checked(kind, "upstream", 1.0, values | {name: value})


@pytest.mark.parametrize(
    ("kind", "stream", "toxicity"),
    [("unknown", "upstream", 1.0), ("timeout", "sideways", 1.0), ("timeout", "upstream", 0.5)],
)
def test_invalid_toxics_are_refused(kind: str, stream: str, toxicity: float) -> None:
    with raises_code(UsageError, "toxic-unknown"):
        checked(kind, stream, toxicity, {"timeout": 0})


def test_slicer_with_possibly_empty_pieces_is_refused() -> None:
    with raises_code(UsageError, "toxic-size-variation"):
        checked("slicer", "upstream", 1.0, {"average_size": 5, "size_variation": 5, "delay": 0})


@given(toxics())
def test_minimal_values_are_allowed(toxic: tuple[str, dict[str, int]]) -> None:
    kind, values = toxic
    for change in HARMLESS.get(kind, ()):
        values |= change
        assert checked(kind, "upstream", 1.0, values) == values


def test_rate_is_never_raised_during_traffic() -> None:
    """A raised rate crashes the server."""
    assert not any("rate" in change for change in HARMLESS["bandwidth"])
