"""The data of figures: nothing is lost on the way to the page."""

from __future__ import annotations

from typing import Any

import pytest

from reports.pages.payload import HOLE, Numbered, packed, unpacked

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


def test_numbered_texts_are_stored_as_the_same_texts_in_a_list() -> None:
    numbered = Numbered(
        [f"record {HOLE} → p0@{HOLE}", f"record {HOLE}", f"record {HOLE} → p1@{HOLE}"],
        [0, 1, 0, 2],
        [[[0, 2], [40, 7]], [[1]], [[3], [0]]],
    )
    texts = ["record 0 → p0@40", "record 1", "record 2 → p0@7", "record 3 → p1@0"]
    assert (list(numbered), len(numbered), numbered[1:3]) == (texts, 4, texts[1:3])
    assert packed({"data": [{"text": numbered}]}) == packed({"data": [{"text": texts}]})
