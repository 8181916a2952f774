"""Each test that is not in the fast tier states the reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def without_reason(source: str) -> Iterator[int]:
    """Return the lines that have a mark ``long`` without a reason."""
    tree = ast.parse(source)
    reasoned = {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and any(isinstance(each, ast.Constant) and each.value for each in node.args)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and ast.unparse(node) == "pytest.mark.long"
            and id(node) not in reasoned
        ):
            yield node.lineno


@pytest.mark.parametrize("folder", ["tests", "suites"])
def test_every_long_test_has_a_reason(folder):
    modules = {path: path.read_text() for path in (ROOT / folder).rglob("*.py")}
    assert sum("pytest.mark.long(" in text for text in modules.values()) > 0
    assert not {
        str(path): [*without_reason(text)] for path, text in modules.items() if [*without_reason(text)]
    }


@pytest.mark.parametrize("mark", ["pytest.mark.long", "pytest.mark.long()", 'pytest.mark.long("")'])
def test_mark_without_a_reason_is_found(mark):
    assert [*without_reason(f"pytestmark = [pytest.mark.jvm,\n {mark}]")] == [2]
    assert [*without_reason(f"@{mark}\ndef f(): ...")] == [1]
    assert [*without_reason('pytestmark = pytest.mark.long("starts a process")')] == []
