"""Translates the settings of Java's producer and consumer for a Python client, with a reason for each that is not set.

An invalid value is not passed to the client, because many clients accept any value.
"""

from __future__ import annotations

import ast
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .adapter import Applied, NotSet

    #: Java name -> the client's own (several as "a, b", if one setting maps to several) and the value it is given.
    Own = dict[str, tuple[str, Any]]

ACKS = {"all": "all", "-1": "all", "0": 0, "1": 1}
TEXTS = ("bootstrap.servers", "client.id", "client.rack", "group.id", "group.instance.id", "transactional.id")
TRUE_OR_FALSE = ("allow.auto.create.topics", "check.crcs", "enable.auto.commit", "enable.idempotence")
WORDS = {
    "auto.offset.reset": ("earliest", "latest", "none"),
    "isolation.level": ("read_committed", "read_uncommitted"),
}
STRATEGY = "partition.assignment.strategy"
#: The names of Java's assignors in the group protocol, by those of their classes.
ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def translate(
    config: Mapping[str, Any],
    names: Mapping[str, str],
    codecs: Sequence[str],
    why_not: Mapping[str, str],
    assignors: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Own, NotSet]:
    """Return the applied values, and why the others are not applied. ``names``: Java name -> the client's own.

    ``codecs`` are those of the client, and ``assignors`` its assignors by their names in the group protocol.
    """
    own: Own = {}
    not_set: NotSet = {}
    for java, value in config.items():
        if java not in names:
            not_set[java] = why_not.get(java, "there is no such setting")
            continue
        try:
            own[java] = (names[java], _value(java, value, codecs, assignors))
        except ValueError as error:
            not_set[java] = str(error)
    return own, not_set


def assignor_names(value: str) -> list[str]:
    """Return the names in the group protocol of a list of assignors, which may be given by Java's classes."""
    listed = [each.strip().rpartition(".")[2] for each in value.split(",")]
    return [ASSIGNORS.get(each, each) for each in listed]


def arguments(own: Own) -> dict[str, Any]:
    """Return the client's own names -> values."""
    return {name: value for names, value in own.values() for name in names.split(", ")}


def applied(own: Own, not_set: NotSet) -> Applied:
    """Return the settings that were applied as requested."""
    return {java: (names, _shown(value)) for java, (names, value) in own.items() if java not in not_set}


def _shown(value: Any) -> str | int | bool:
    if isinstance(value, (list, tuple)):
        return ", ".join(each.__name__ for each in value)
    return "none" if value is None else value


def own_arguments(
    given: Mapping[str, str], known: Collection[str], own: Own, not_set: NotSet
) -> dict[str, Any]:
    """Return the client's own settings as arguments: each text as the Python literal that it is, else as text.

    Names that the client does not have or that ``own`` already sets go to ``not_set``.
    """
    taken = arguments(own)
    found: dict[str, Any] = {}
    for name, text in given.items():
        if name in taken:
            not_set[name] = "the harness sets it"
        elif name not in known:
            not_set[name] = "there is no such argument"
        else:
            found[name] = _literal(text)
    return found


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "null": None}.get(text, text)


def _value(java: str, value: Any, codecs: Sequence[str], assignors: Mapping[str, Any]) -> Any:
    if java in TEXTS:
        return str(value)
    if java in WORDS:
        return _one_of(WORDS[java], str(value).lower())
    if java == STRATEGY:
        return [assignors[_one_of(assignors, name)] for name in assignor_names(str(value))]
    if java == "acks":
        return ACKS[_one_of(ACKS, str(value))]
    if java == "compression.type":
        return None if value == "none" else _one_of(codecs, value)
    if java in TRUE_OR_FALSE:
        return _one_of({"true": True, "false": False}, str(value).lower()) == "true"
    if isinstance(value, bool) or not str(value).lstrip("-").isdecimal():
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def _one_of(known: Mapping[str, Any] | Sequence[str], value: str) -> str:
    if value not in known:
        raise ValueError(f"{value!r} is not one of {', '.join(known)}")
    return value
