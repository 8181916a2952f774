"""Generate Python source: one function for each message class, compiled when it is first needed.

Looking up the type of a field costs more than reading the field, so the lookup is done once and its result is compiled
into code. Consecutive values of fixed size are packed and unpacked in one call of :mod:`struct`: they wait in a run
until a value of another kind follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    """The lines of one function, and the objects that they refer to."""

    def __init__(self, **names: Any) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._counted = 0
        self._names = names
        self._run: list[tuple[str, str]] = []

    def line(self, text: str) -> None:
        """Add a statement at the current depth."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write the lines of the ``with`` body as the block of ``head``, a statement that ends with a colon."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, prefix: str) -> str:
        """Return an unused name."""
        self._counted += 1
        return f"{prefix}{self._counted}"

    def constant(self, prefix: str, value: Any) -> str:
        """Bind ``value`` to a new name for the function to use, and return the name."""
        name = self.fresh(prefix)
        self._names[name] = value
        return name

    def wait(self, layout: str, text: str) -> None:
        """Add a value to the run: its :mod:`struct` layout, and its name or expression."""
        self._run.append((layout, text))

    def end_run(self) -> tuple[str, list[str]]:
        """End the run. Return its combined layout, and the names or expressions."""
        run, self._run = self._run, []
        return "".join(layout for layout, _ in run), [text for _, text in run]

    def compiled(self, name: str) -> Callable[..., Any]:
        """Compile the lines and return the function ``name`` that they define."""
        exec(compile("\n".join(self._lines), f"<{name}>", "exec"), self._names)
        function: Callable[..., Any] = self._names[name]
        return function
