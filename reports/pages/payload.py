"""The data of a page's figures and tables, small: numbers as differences, texts as patterns, compressed, in base64.

``static/report.js`` has the inverse of :func:`packed`. Base64 has no character that HTML interprets.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from operator import sub
from typing import Any, overload

import msgspec

#: The lists of a plot's trace that have a value per point.
LISTS = ("x", "y", "text")
#: Numbers have at most this many decimals.
SCALE = 1_000
#: Numbers that JavaScript represents exactly, and whose text is the same again. A partition, such as p3, belongs to the
#: pattern, so that offsets follow each other in their partition.
_NUMBER = re.compile(r"(?<![0-9p])(?:0|[1-9][0-9]{0,14})(?![0-9])")
HOLE = "\0"
#: The largest number in a hole.
MOST = 10**15 - 1
#: The end of a text among others. Texts for display are single lines.
_END = "\n"
#: The highest level saves another hundredth of a page and takes twice as long.
_LEVEL = 6


@dataclass(frozen=True)
class Numbered(Sequence[str]):
    """Texts that differ in numbers: those of a few patterns, each with a :data:`HOLE` for each of its numbers.

    ``which`` is the pattern of each text. ``numbers`` has for each pattern and hole the numbers of its texts, in their
    order, none negative or above :data:`MOST`.
    """

    patterns: Sequence[str]
    which: Sequence[int]
    numbers: Sequence[Sequence[Sequence[int]]]

    def __len__(self) -> int:
        return len(self.which)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self._texts[at]

    @cached_property
    def _texts(self) -> list[str]:
        texts: list[str] = _long(self.differences())
        return texts

    def differences(self) -> dict[str, Any]:
        """Return the texts as they are stored."""
        columns = [[_differences(column) for column in each] for each in self.numbers]
        return {"patterns": self.patterns, "which": self.which, "numbers": columns}


def packed(document: Mapping[str, Any]) -> str:
    """Return a document. In a figure, the lists of its traces are written as differences."""
    data = [
        {key: _short(value) if key in LISTS else value for key, value in trace.items()}
        for trace in document.get("data", ())
    ]
    small = {**document, "data": data} if data else document
    return b64encode(zlib.compress(msgspec.json.encode(small), _LEVEL)).decode()


def unpacked(text: str) -> dict[str, Any]:
    """Return what :func:`packed` was given."""
    document: dict[str, Any] = msgspec.json.decode(zlib.decompress(b64decode(text)))
    for trace in document.get("data", ()):
        trace.update({key: _long(trace[key]) for key in LISTS if key in trace})
    return document


def _short(values: Sequence[Any]) -> Any:
    if isinstance(values, Numbered):
        return values.differences()
    kinds = set(map(type, values))
    if values and kinds == {str}:
        return _patterns(values)
    if kinds == {int} and min(values) >= -MOST and max(values) <= MOST:
        return {"differences": [number * SCALE for number in _differences(values)]}
    if kinds <= {int, float}:
        whole = [round(value * SCALE) for value in values]
        if [number / SCALE for number in whole] == list(values):
            return {"differences": _differences(whole)}
    return values


def _patterns(texts: Sequence[str]) -> Any:
    """Return texts as patterns with holes, which pattern each has, and pattern -> the numbers of each hole."""
    together = _END.join(texts)
    if HOLE in together or together.count(_END) >= len(texts):
        return texts
    numbers = map(int, _NUMBER.findall(together))
    places: dict[str, int] = {}
    rows: list[list[list[int]]] = []
    which = []
    for pattern in _NUMBER.sub(HOLE, together).split(_END):
        place = places.setdefault(pattern, len(places))
        if place == len(rows):
            rows.append([])
        rows[place].append(list(islice(numbers, pattern.count(HOLE))))
        which.append(place)
    return Numbered(list(places), which, [[*zip(*each, strict=True)] for each in rows]).differences()


def _differences(numbers: Sequence[int]) -> list[int]:
    return [*numbers[:1], *map(sub, numbers[1:], numbers)]


def _long(value: Any) -> Any:
    if isinstance(value, list):
        return value
    if "differences" in value:
        return [number / SCALE for number in accumulate(value["differences"])]
    rows = [zip(*map(accumulate, columns), strict=True) if columns else None for columns in value["numbers"]]
    return [_filled(value["patterns"][place], rows[place]) for place in value["which"]]


def _filled(pattern: str, rows: Any) -> str:
    parts = pattern.split(HOLE)
    numbers = next(rows) if rows else ()
    return parts[0] + "".join(f"{number}{part}" for number, part in zip(numbers, parts[1:], strict=True))
