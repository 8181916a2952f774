"""Edits that make a valid document hostile: drawn by Hypothesis as plain tuples, applied by pure functions.

Edits do not depend on the document: positions count modulo its length. Examples are therefore short, cheap to draw, and
can be pinned with ``@example``. Structured edits keep a document well-formed and reach far into a reader. Edits of
bytes produce what no writer of documents would write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.attacks.formats.hostile_values import FRAGMENTS, VALUES, Raw

#: By profile: 40 in the fast tier, 300 in ``make test``, 20,000 in ``make test-formats``.
EXAMPLES = {"quick": 40, "thorough": 20_000}.get(settings.get_current_profile_name(), 300)
#: The number of examples for tests that take a hundred times as long, because they do more than reading.
SLOW_EXAMPLES = {40: 4, 300: 20}.get(EXAMPLES, 400)

_CHECKS: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
}
many = settings(max_examples=EXAMPLES, **_CHECKS)
fewer = settings(max_examples=SLOW_EXAMPLES, **_CHECKS)


class Twin(str):
    """A key that a dictionary can contain twice."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


STRUCTURED = (
    *(
        "replace",
        "replace",
        "replace",
        "remove",
        "rename",
        "double",
        "add",
        "copy",
        "copy",
        "swap",
        "nudge",
        "nudge",
    ),
    *("repeat", "wrap"),
)
#: (kind of edit, position, other position, new value)
StructuredEdit = tuple[str, int, int, Any]
BYTEWISE = ("flip", "flip", "overwrite", "overwrite", "cut", "insert", "repeat", "swap", "end")
#: (kind of edit, position, length or other position, new bytes)
ByteEdit = tuple[str, int, int, bytes]
Edits = tuple[Sequence[StructuredEdit], Sequence[ByteEdit]]
#: The bytes drawn per edit. Drawing all edits at once is ten times as fast as drawing one at a time.
EDIT_BYTES = 8


def _edits(drawn: bytes) -> Edits:
    structured_edits, byte_edits = [], []
    for begin in range(0, len(drawn), EDIT_BYTES):
        one = drawn[begin : begin + EDIT_BYTES].ljust(EDIT_BYTES, b"\0")
        where, other, value = (int.from_bytes(one[at : at + 2]) for at in (2, 4, 6))
        if one[0] % 3:
            structured_edits.append(
                (STRUCTURED[one[1] % len(STRUCTURED)], where, other, VALUES[value % len(VALUES)])
            )
        else:
            byte_edits.append(_byte_edit(one))
    return structured_edits, byte_edits


def _byte_edit(one: bytes) -> ByteEdit:
    where, other = (int.from_bytes(one[at : at + 2]) for at in (2, 4))
    fragment = FRAGMENTS[one[6] % len(FRAGMENTS)] if one[7] % 2 else one[6:8]
    return BYTEWISE[one[1] % len(BYTEWISE)], where, other, fragment


def _byte_edits(drawn: bytes) -> Sequence[ByteEdit]:
    parts = (drawn[begin : begin + EDIT_BYTES] for begin in range(0, len(drawn), EDIT_BYTES))
    return [_byte_edit(part.ljust(EDIT_BYTES, b"\0")) for part in parts]


_DRAWN = st.binary(min_size=EDIT_BYTES, max_size=3 * EDIT_BYTES)
EDITS: st.SearchStrategy[Edits] = _DRAWN.map(_edits)
BYTE_EDITS: st.SearchStrategy[Sequence[ByteEdit]] = _DRAWN.map(_byte_edits)


def structured(value: Any, edits: Sequence[StructuredEdit]) -> Any:
    """Return the document after all edits. Each position refers to the result of the edit before."""
    for edit in edits:
        places = list(_places(value))
        value = _changed(value, places, *edit)
    return value


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, Raw):
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            yield from _places(inner, (*path, at))


def _at(value: Any, path: Sequence[Any]) -> Any:
    for step in path:
        value = value[step]
    return value


def _put(value: Any, path: Sequence[Any], new: Any) -> Any:
    """Return a copy with ``new`` at ``path``. Parts outside the path are shared."""
    if not path:
        return new
    inner = _put(value[path[0]], path[1:], new)
    if isinstance(value, dict):
        return {key: inner if key is path[0] or key == path[0] else each for key, each in value.items()}
    return [inner if at == path[0] else each for at, each in enumerate(value)]


def _changed(value: Any, places: list[tuple[Any, ...]], what: str, at: int, other: int, new: Any) -> Any:
    path = places[at % len(places)]
    found = _at(value, path)
    elsewhere = places[other % len(places)]
    match what:
        case "replace":
            return _put(value, path, new)
        case "copy":
            return _put(value, path, _at(value, elsewhere))
        case "swap" if path[: len(elsewhere)] != elsewhere and elsewhere[: len(path)] != path:
            return _put(_put(value, path, _at(value, elsewhere)), elsewhere, found)
        case "wrap":
            return _put(value, path, [found] if other % 2 else {"x": found})
        case "nudge":
            return _put(value, path, _nudged(found, other, new))
    if not path:
        return value
    above, key = _at(value, path[:-1]), path[-1]
    name = new if isinstance(new, str) else f"unknown_{other}"
    if isinstance(above, dict):
        edited = dict(above)
        match what:
            case "remove":
                del edited[key]
            case "rename":
                edited = {name if each is key else each: inner for each, inner in above.items()}
            case "double" | "repeat":
                edited[Twin(key)] = new if other % 2 else found
            case "add":
                edited[name] = new
        return _put(value, path[:-1], edited)
    listed = list(above)
    match what:
        case "remove":
            del listed[key]
        case "double" | "add":
            listed.insert(other % (len(listed) + 1), found if what == "double" else new)
        case "repeat":
            listed[key:key] = [found] * (10 ** (other % 4))
        case "rename":
            listed.reverse()
    return _put(value, path[:-1], listed)


def _nudged(found: Any, other: int, new: Any) -> Any:
    match found:
        case bool():
            return not found
        case int():
            return [
                found + 1,
                found - 1,
                -found,
                found * 10**9,
                found << 32,
                found % 2**60 / 2,
                str(found % 2**60),
            ][other % 7]
        case str():
            doubled = new if isinstance(new, str) else "\x1b"
            return [found + doubled, doubled + found, found[1:], found[::-1], found.upper(), found * 2][
                other % 6
            ]
        case list():
            return found[: other % (len(found) + 1)]
        case dict():
            return dict(list(found.items())[: other % (len(found) + 1)])
    return new


def bytewise(data: bytes, edits: Sequence[ByteEdit]) -> bytes:
    """Return the bytes after all edits."""
    for what, where, other, new in edits:
        if not data:
            return new
        at, many = where % len(data), other % 64 + 1
        match what:
            case "flip":
                data = data[:at] + bytes([data[at] ^ 1 << other % 8]) + data[at + 1 :]
            case "overwrite":
                data = data[:at] + new + data[at + len(new) :]
            case "cut":
                data = data[:at] + data[at + many :]
            case "insert":
                data = data[:at] + new + data[at:]
            case "repeat":
                data = data[:at] + data[at : at + many] * (10 ** (other % 4)) + data[at:]
            case "swap":
                to = other % len(data)
                first, last = min(at, to), max(at, to)
                data = (
                    data[:first]
                    + data[last : last + 8]
                    + data[first + 8 : last]
                    + data[first : first + 8]
                    + data[last + 8 :]
                )
            case "end":
                data = data[:at]
    return data
