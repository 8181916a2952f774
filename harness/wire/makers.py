"""Create messages, and other frozen values, fast.

A frozen dataclass sets its fields through ``object.__setattr__``, with one call per field. The functions here create an
instance of a twin class, which has the same slots but is not frozen, set its fields, and then assign the frozen class
to ``__class__``. Python allows that between classes of the same layout. The result is an ordinary instance of the
frozen class, made at a fraction of the cost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

from harness.wire.source import Source


@cache
def twin(frozen: Any) -> Any:
    """Return a class with the same slots as the dataclass ``frozen`` whose instances are mutable."""
    return type(frozen.__name__, (), {"__slots__": tuple(field.name for field in fields(frozen))})


def write_making(source: Source, frozen: Any, values: Iterable[tuple[str, str]]) -> str:
    """Write source that creates a ``frozen`` from (field name, expression) pairs, and return the variable's name.

    ``values`` must contain all fields.
    """
    made = source.fresh("made")
    source.line(f"{made} = {source.constant('twin', twin(frozen))}()")
    for name, value in values:
        source.line(f"{made}.{name} = {value}")
    source.line(f"{made}.__class__ = {source.constant('frozen', frozen)}")
    return made


@cache
def filler(frozen: Any) -> Callable[..., Any]:
    """Return a function that creates a ``frozen`` from positional values for all of its fields, in field order."""
    source = Source()
    names = [field.name for field in fields(frozen)]
    name = f"make_{frozen.__name__}"
    with source.block(f"def {name}({', '.join(names)}):"):
        source.line(f"return {write_making(source, frozen, zip(names, names, strict=True))}")
    return source.compiled(name)


@cache
def maker(frozen: Any) -> Callable[..., Any]:
    """Return a function that creates a ``frozen`` from keyword arguments and ignores unknown ones.

    Apart from the ignored arguments it works like the constructor. One call can therefore serve every version of a
    message. Keep the function where many values are created.
    """
    source = Source()
    parameters = []
    for field in fields(frozen):
        default = "" if field.default is MISSING else f"={source.constant('default', field.default)}"
        parameters.append(field.name + default)
    head = f"*, {', '.join(parameters)}, " if parameters else ""
    name = f"make_{frozen.__name__}"
    with source.block(f"def {name}({head}**unknown):"):
        made = write_making(source, frozen, [(field.name, field.name) for field in fields(frozen)])
        source.line(f"return {made}")
    return source.compiled(name)


def make(message_class: Any, **values: Any) -> Any:
    """Create a ``message_class`` and ignore values for fields that it does not have.

    Raises TypeError if a required field is missing.
    """
    return maker(message_class)(**values)


@cache
def nested(message_class: Any, name: str) -> Any:
    """Return the class of a nested structure, e.g. ``TopicProduceData``.

    It is looked up in the module of ``message_class``, because kio keeps all classes of a message in one module.
    """
    return getattr(sys.modules[message_class.__module__], name)
