"""Python source that is written by a program: a function for each message class, made when it is first needed.

To look up what a field is costs more than to read the field, so it is looked up once and written down as code.
Fixed-size values that follow each other are packed and unpacked in one call of :mod:`struct`: they wait in a run
until something of another kind comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    """The lines of one function, and the objects that they name."""

    def __init__(self, **names: Any) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._counted = 0
        self._names = names
        self._run: list[tuple[str, str]] = []

    def line(self, text: str) -> None:
        """A statement, at the present depth."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What is written within is the block of ``head``, a statement that ends with a colon."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, prefix: str) -> str:
        """A name that nothing else has."""
        self._counted += 1
        return f"{prefix}{self._counted}"

    def constant(self, prefix: str, value: Any) -> str:
        """The name by which the function finds ``value``."""
        name = self.fresh(prefix)
        self._names[name] = value
        return name

    def wait(self, layout: str, text: str) -> None:
        """Adds to the run: one value of a :mod:`struct` layout, by its name or expression."""
        self._run.append((layout, text))

    def end_run(self) -> tuple[str, list[str]]:
        """The layout of all that has waited, and the names or expressions."""
        run, self._run = self._run, []
        return "".join(layout for layout, _ in run), [text for _, text in run]

    def compiled(self, name: str) -> Callable[..., Any]:
        """The function of that name, which the lines define."""
        exec(compile("\n".join(self._lines), f"<{name}>", "exec"), self._names)
        function: Callable[..., Any] = self._names[name]
        return function
