"""No module has more than 400 lines, and no function more than 60."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "harness",
    "clients",
    "faults",
    "suites",
    "reports",
    "testkit",
    "benchmarks",
    "examples",
    "scripts",
    "tests",
)
MODULE_LINES = 400
FUNCTION_LINES = 60


def too_long(source: str) -> Iterator[str]:
    """Return the parts of a module that are too long, with their lines."""
    if (lines := source.count("\n")) > MODULE_LINES:
        yield f"{lines} lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"{node.name} has {lines} lines"


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_module_and_no_function_is_too_long(folder):
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert modules
    found = {str(path.relative_to(ROOT)): [*too_long(path.read_text())] for path in modules}
    assert not {name: long for name, long in found.items() if long}


@pytest.mark.parametrize(("lines", "is_long"), [(FUNCTION_LINES, False), (FUNCTION_LINES + 1, True)])
def test_lines_of_a_function_are_counted(lines, is_long):
    source = "def f():\n" + "    x = 1\n" * (lines - 1) + "\ny = 2\n"
    assert bool([*too_long(source)]) == is_long
    assert bool([*too_long("class C:\n    async def g():\n" + "        x = 1\n" * (lines - 1))]) == is_long


@pytest.mark.parametrize(("lines", "is_long"), [(MODULE_LINES, False), (MODULE_LINES + 1, True)])
def test_lines_of_a_module_are_counted(lines, is_long):
    assert bool([*too_long("x = 1\n" * lines)]) == is_long
