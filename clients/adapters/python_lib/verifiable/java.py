"""Translates the Java producer's settings for a Python client, with a reason for each that is not set.

An invalid value is not passed to the client, because many clients accept any value.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .adapter import Applied, NotSet

    #: Java name -> the client's own (several as "a, b", if one setting maps to several) and the value it is given.
    Own = dict[str, tuple[str, Any]]

ACKS = {"all": "all", "-1": "all", "0": 0, "1": 1}
TEXTS = ("bootstrap.servers", "client.id")


def translate(
    config: Mapping[str, Any], names: Mapping[str, str], codecs: Sequence[str], why_not: Mapping[str, str]
) -> tuple[Own, NotSet]:
    """Return the applied values, and why the others are not applied. ``names``: Java name -> the client's own."""
    own: Own = {}
    not_set: NotSet = {}
    for java, value in config.items():
        if java not in names:
            not_set[java] = why_not.get(java, "there is no such setting")
            continue
        try:
            own[java] = (names[java], _value(java, value, codecs))
        except ValueError as error:
            not_set[java] = str(error)
    return own, not_set


def arguments(own: Own) -> dict[str, Any]:
    """Return the client's own names -> values."""
    return {name: value for names, value in own.values() for name in names.split(", ")}


def applied(own: Own, not_set: NotSet) -> Applied:
    """Return the settings that were applied as requested."""
    return {
        java: (names, "none" if value is None else value)
        for java, (names, value) in own.items()
        if java not in not_set
    }


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


def _value(java: str, value: Any, codecs: Sequence[str]) -> Any:
    if java in TEXTS:
        return str(value)
    if java == "acks":
        return ACKS[_one_of(ACKS, str(value))]
    if java == "compression.type":
        return None if value == "none" else _one_of(codecs, value)
    if java == "enable.idempotence":
        return _one_of({"true": True, "false": False}, str(value).lower()) == "true"
    if isinstance(value, bool) or not str(value).lstrip("-").isdecimal():
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def _one_of(known: Mapping[str, Any] | Sequence[str], value: str) -> str:
    if value not in known:
        raise ValueError(f"{value!r} is not one of {', '.join(known)}")
    return value
