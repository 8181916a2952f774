"""The controls of each kind of fault, read from the tests that assert them.

A test that is a control has a mark that describes its assertions in plain words:

    @pytest.mark.control("refuse", client="what it sees", broker="what it sees", untouched="what it does not affect")

The positive control is what the two ends observe themselves, without relying on the fault. The negative control is a
connection that is served as if there were no fault. A test with ``@pytest.mark.twin("refuse", ...)`` asserts the fault
in simulated mode. The marks are read from the source and not imported, so a page does not run any test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests" / "faults"


@dataclass(frozen=True)
class Place:
    """A function of a test file, by its path below the project."""

    path: str
    name: str

    def __str__(self) -> str:
        return f"{PurePath(self.path).relative_to('tests/faults')}::{self.name}"

    @property
    def link(self) -> str:
        """A link from a page in docs/reference/, without a line number, which would change with every edit."""
        return f"[`{self}`](../../{self.path})"


@dataclass(frozen=True)
class Control:
    """A kind of fault: what each end sees, what stays untouched, and where that is asserted."""

    kind: str
    client: str
    broker: str
    untouched: str
    place: Place


def controls(folder: Path = TESTS) -> list[Control]:
    """Return all controls, kind by kind. Raise ValueError for a mark that is not four texts."""
    found = []
    for place, call in _marks(folder, "control"):
        words = {keyword.arg or "**": _text(keyword.value, place) for keyword in call.keywords}
        kinds = [_text(argument, place) for argument in call.args]
        if len(kinds) != 1 or words.keys() != {"client", "broker", "untouched"} or not all(words.values()):
            raise ValueError(
                f"{place}: a control is of one kind, with what client and broker see, and untouched"
            )
        found.append(Control(kinds[0], place=place, **words))
    return sorted(found, key=lambda control: control.kind)


def twins(folder: Path = TESTS) -> list[tuple[str, Place]]:
    """Return each kind whose behaviour in simulated mode a test asserts, with that test."""
    return [
        (_text(argument, place), place) for place, call in _marks(folder, "twin") for argument in call.args
    ]


def _marks(folder: Path, mark: str) -> Iterator[tuple[Place, ast.Call]]:
    return ((place, call) for name, place, call in _calls(folder) if name == f"pytest.mark.{mark}")


@cache
def _calls(folder: Path) -> list[tuple[str, Place, ast.Call]]:
    """Return every decorator call with its name and its test. The result is cached because every kind uses it."""
    return [
        (ast.unparse(call.func), Place(path.relative_to(folder.parent.parent).as_posix(), node.name), call)
        for path in sorted(folder.rglob("test_*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in node.decorator_list
        if isinstance(call, ast.Call)
    ]


def _text(node: ast.expr, place: Place) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError(f"{place}: {ast.unparse(node)} is not a text that can be read without running the test")
