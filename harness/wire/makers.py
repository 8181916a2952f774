"""Making messages, and other frozen values, fast.

A frozen dataclass fills itself through ``object.__setattr__``, a call for each field. Its twin here has the same
slots and lets itself be filled; then it takes the frozen class, which Python allows between classes of the same
layout. What comes out is an ordinary instance, frozen from there on, at a fraction of the price.
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
    """The class with the slots of ``frozen``, a dataclass with slots, that can be filled before it is frozen."""
    return type(frozen.__name__, (), {"__slots__": tuple(field.name for field in fields(frozen))})


def write_making(source: Source, frozen: Any, values: Iterable[tuple[str, str]]) -> str:
    """Source that makes a ``frozen`` from the names of all its fields and their values; the new one's name."""
    made = source.fresh("made")
    source.line(f"{made} = {source.constant('twin', twin(frozen))}()")
    for name, value in values:
        source.line(f"{made}.{name} = {value}")
    source.line(f"{made}.__class__ = {source.constant('frozen', frozen)}")
    return made


@cache
def filler(frozen: Any) -> Callable[..., Any]:
    """A function that makes a ``frozen`` from the values of all its fields, in their order."""
    source = Source()
    names = [field.name for field in fields(frozen)]
    name = f"make_{frozen.__name__}"
    with source.block(f"def {name}({', '.join(names)}):"):
        source.line(f"return {write_making(source, frozen, zip(names, names, strict=True))}")
    return source.compiled(name)


@cache
def maker(frozen: Any) -> Callable[..., Any]:
    """A function that makes a ``frozen`` from keywords, as its constructor does, but drops those that it has no
    field for, so that one call serves every version of a message. Keep it where much is made.
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
    """A ``message_class`` from those of ``values`` that it has a field for. Raises TypeError where one is missing."""
    return maker(message_class)(**values)


@cache
def nested(message_class: Any, name: str) -> Any:
    """The class of a field's structures, e.g. ``TopicProduceData``: kio keeps a message's classes in one module."""
    return getattr(sys.modules[message_class.__module__], name)
