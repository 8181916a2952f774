"""Limit the content of an event: the length of strings and tables, and the nesting of values.

Later code can rely on these limits. A string that is too long is cut and says how much is missing, since it is a
message for people. A table that is too long breaks the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from harness.limits.meter import ENTRIES, NESTING, TEXT_CHARS
from harness.model.consumer_contract import Consumed
from harness.text.counting import some

E = TypeVar("E", bound=msgspec.Struct)

#: The errors of msgspec for bytes that it cannot read: invalid JSON or another type, invalid UTF-8, or too much
#: nesting.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class TooMuch(msgspec.ValidationError):
    """The event exceeds a limit. The message says which."""


def why(error: Exception, line: bytes) -> str:
    """Describe one of UNREADABLE in a clause. ``line`` is what could not be read."""
    if isinstance(error, RecursionError):
        return f"it is nested more than {NESTING.base} levels deep"
    try:
        line.decode()
    except UnicodeDecodeError as misfit:
        return f"byte {misfit.start + 1} of the line, {line[misfit.start]:#04x}, is not UTF-8"
    return str(error)


def cut(text: str, most: int = TEXT_CHARS.base) -> str:
    """Return ``text``, or its beginning and the number of characters that are missing."""
    return text if len(text) <= most else f"{text[:most]}… ({some(len(text) - most, 'more character')})"


def within(event: E, line_bytes: int) -> E:
    """Return the event, whose line had ``line_bytes`` bytes, with long strings cut. TooMuch: a table is too long."""
    if line_bytes <= min(TEXT_CHARS.base, ENTRIES.base):  # nearly all events
        return event
    return _fields_within(event)


def _fields_within(struct: E) -> E:
    values = {name: getattr(struct, name) for name in struct.__struct_fields__}
    bounded = {name: _within(name, value) for name, value in values.items()}
    return replace(struct, **{name: value for name, value in bounded.items() if value is not values[name]})


def _within(name: str, value: Any) -> Any:
    match value:
        case str():
            return cut(value)
        case dict():
            _assert_few(name, value)
            return {cut(key): _within(name, inner) for key, inner in value.items()}
        case list() if name not in _COLUMNS:
            _assert_few(name, value)
            return [_within(name, inner) for inner in value]
        case list() if name in _TEXTS:
            return [inner if inner is None else cut(inner) for inner in value]
        case tuple():
            return tuple(_within(name, inner) for inner in value)
        case Consumed():  # the content of delivered records is compared with what was written
            return replace(value, topic=cut(value.topic))
        case msgspec.Struct():
            return _fields_within(value)
        case _:
            return value


#: The results per record are not a table: the protocol rules limit their number.
_TEXTS = frozenset({"outcome", "error"})
_COLUMNS = _TEXTS | {"invoke_ns", "complete_ns", "records", "partition", "offset"}


def _assert_few(name: str, table: Mapping[str, Any] | list[Any]) -> None:
    if len(table) > ENTRIES.base:
        raise TooMuch(f"expected at most {ENTRIES.base:,} entries in {name}, got {len(table):,}")


def depth(value: Any, most: int = NESTING.base) -> int:
    """Return the nesting depth of lists and objects in a JSON value. ``most`` + 1 means any greater depth."""
    if not isinstance(value, dict | list) or most < 0:
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max((depth(each, most - 1) for each in inner), default=0)
