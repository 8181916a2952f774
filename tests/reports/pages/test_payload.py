"""The data of figures: nothing is lost on the way to the page."""

from __future__ import annotations

from typing import Any

import pytest

from reports.pages.payload import packed, unpacked

LONG = [f"record {n} → p{n % 3}@{n // 3}" for n in range(3_000)]


@pytest.mark.parametrize(
    "values",
    [
        [],
        [3, 1, 2],
        [0.125, -7.001, 1e6],
        [1e-9, 2.0],
        [None, 1.5, None],
        ["record 1 → p0@0", "record 2 → p1@0 TIMED_OUT", "no number", "record 10 → p0@12"],
        ["007", "1.50", "99999999999999999999", "-3", "4\x005"],
        LONG,
    ],
)
def test_lists_of_a_trace_come_back(values: list[Any]) -> None:
    figure = {"data": [{"name": "one 1", "x": values, "y": values, "text": values}], "layout": {"height": 3}}
    assert unpacked(packed(figure)) == figure


def test_documents_without_traces_come_back() -> None:
    table = {"columns": ["num"], "rows": [["fault", "12"]]}
    assert unpacked(packed(table)) == table


def test_regular_texts_are_small() -> None:
    assert len(packed({"data": [{"text": LONG}]})) < 1_000
