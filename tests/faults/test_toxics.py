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
def test_values_in_range_are_sent_as_they_are(toxic: tuple[str, dict[str, int]]) -> None:
    kind, values = toxic
    assert checked(kind, "upstream", 1.0, values) == values


@given(toxics(), st.data())
def test_no_attribute_is_left_to_the_server(toxic: tuple[str, dict[str, int]], data: st.DataObject) -> None:
    kind, values = toxic
    left_out = data.draw(st.sampled_from(sorted(values)))
    with raises_code(UsageError, "toxic-attributes"):
        checked(kind, "upstream", 1.0, {name: value for name, value in values.items() if name != left_out})
    with raises_code(UsageError, "toxic-attributes"):
        checked(kind, "upstream", 1.0, values | {"unknown": 0})


@given(toxics(), st.data())
def test_no_value_out_of_range_reaches_the_server(
    toxic: tuple[str, dict[str, int]], data: st.DataObject
) -> None:
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
def test_toxics_that_cannot_be_asked_for(kind: str, stream: str, toxicity: float) -> None:
    with raises_code(UsageError, "toxic-unknown"):
        checked(kind, stream, toxicity, {"timeout": 0})


def test_a_slicer_whose_pieces_could_be_empty_would_end_the_server() -> None:
    with raises_code(UsageError, "toxic-size-variation"):
        checked("slicer", "upstream", 1.0, {"average_size": 5, "size_variation": 5, "delay": 0})


@given(toxics())
def test_harmless_values_are_allowed_values(toxic: tuple[str, dict[str, int]]) -> None:
    kind, values = toxic
    for change in HARMLESS.get(kind, ()):
        values |= change
        assert checked(kind, "upstream", 1.0, values) == values


def test_a_rate_never_grows_under_what_is_being_sent() -> None:
    """The server dies of it."""
    assert not any("rate" in change for change in HARMLESS["bandwidth"])
