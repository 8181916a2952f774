"""Errors with codes: an exception has a stable code and typed parameters, and its sentence is made from them last.

The code and the template of the sentence are written where the error is raised. Programs, tests and other tools use the
code and the parameters. The wording of a template may change at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter
from typing import Any, Self

from harness.text.counting import some


class _Sentence(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, tuple):
            return ", ".join(map(str, value))
        return some(value, format_spec) if NOUN.fullmatch(format_spec) else format(value, format_spec)


_SENTENCE = _Sentence()
#: Such as ``record`` in ``{count:record}``. Python's own formats have one letter and do not match.
NOUN = re.compile("[a-z][a-z -]+")


class Coded(Exception):
    """An exception with a ``code`` and ``params``: ``Error("no-such-port", "port {port} does not exist", port=1)``.

    Placeholders of the template are names of parameters. A tuple is shown as a list, and ``{count:record}`` as
    "2 records". A parameter can be another error, which is the reason for this one.
    """

    def __init__(self, code: str, template: str, /, **params: object) -> None:
        super().__init__(code, template)
        self.code = code
        self.template = template
        self.params = params
        #: The places in which the error occurred, outermost first, such as a file and an entry in it.
        self.where: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "".join(f"{each}: " for each in self.where) + _SENTENCE.format(self.template, **self.params)

    def at(self, where: str) -> Self:
        """Return the same error, which now says that it occurred in ``where``."""
        self.where = (where, *self.where)
        return self

    def reasons(self) -> Iterator[Coded]:
        """Yield the errors among the parameters, and those among their parameters."""
        for value in self.params.values():
            if isinstance(value, Coded):
                yield value
                yield from value.reasons()
