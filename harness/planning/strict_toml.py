"""Read a TOML file as typed structs. All errors are found at once.

Each is one sentence: the file, the place in it, and what to write instead."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from harness.files import read_named
from harness.limits.meter import NESTING
from harness.limits.parsed import depth
from harness.model.errors import Collecting, KafkaTrialError, UsageError, unknown

T = TypeVar("T")

MOST_CHARS = 4 * 2**20
#: Per line, because the time that Python takes for a dotted key grows with the square of its parts.
MOST_DOTS = 1_000

#: TOML's names for the types in msgspec's messages.
_TOML_WORDS = {"object": "table", "array": "list", "str": "string", "int": "integer", "bool": "boolean"}


@contextmanager
def at(where: str) -> Iterator[None]:
    """Add a file, or a key in it, to the errors that are raised within."""
    try:
        yield
    except KafkaTrialError as error:
        error.at(where)
        raise


def below(where: str, key: str) -> str:
    """Return the place of a key in the table at ``where``, as TOML would write it."""
    plain = key.replace("_", "").replace("-", "")
    told = key if plain.isascii() and plain.isalnum() else f'"{key}"'
    return f"{where}.{told}" if where else told


def read(path: Path, wanted: type[T]) -> T:
    """Read the file as ``wanted``. Raise UsageError if it cannot be read, is not TOML, or does not fit."""
    with at(str(path)):
        built: T = typed(_document(path), wanted)
        return built


def read_partly(path: Path, wanted: type[T], errors: Collecting) -> T:
    """Read the file as ``wanted``, whose keys all have defaults. Keys that do not fit keep theirs.

    What does not fit is added to ``errors``. Raise UsageError if the file cannot be read or is not TOML.
    """
    with at(str(path)):
        document = _document(path)
    fitting = {}
    for key, value in document.items():
        with errors.each(), at(str(path)):
            typed({key: value}, wanted)
            fitting[key] = value
    built: T = typed(fitting, wanted)
    return built


def _document(path: Path) -> dict[str, Any]:
    try:
        return parsed(read_named(path).decode())
    except OSError as error:
        raise UsageError("cannot-open", "{why}", why=error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise UsageError("not-utf-8", "not UTF-8, from byte {start} on", start=error.start) from None


def parsed(text: str) -> dict[str, Any]:
    """Return the document.

    Raise UsageError for a text that is not TOML, or is too long, too deep or too large to be read.
    """
    if len(text) > MOST_CHARS:
        raise UsageError(
            "file-too-long",
            "it has {count:character}; the limit is {most:,}",
            count=len(text),
            most=MOST_CHARS,
        )
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > MOST_DOTS:
            raise UsageError(
                "line-too-complex",
                "line {line} has more than {most:,} dots; write it in several lines",
                line=number,
                most=MOST_DOTS,
            )
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError("not-toml", "not TOML: {why}", why=error) from None
    except ValueError:  # Python's own limit
        raise UsageError("number-too-long", "a number in it has thousands of digits") from None
    except RecursionError:
        document = None
    if document is None or depth(document) > NESTING.base:
        raise UsageError("too-deep", "nested more than {most} levels deep", most=NESTING.base)
    return document


def typed(value: Any, wanted: Any, where: str = "") -> Any:
    """Return ``value`` as ``wanted``, a struct or a type made of structs.

    Raise UsageError, with the place, if it does not fit; Problems if several parts of it do not.
    """
    for plain in _arms(wanted):
        inner = get_args(plain)
        match value:
            case dict() if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
                return _struct(value, plain, where)
            case dict() if get_origin(plain) is dict:
                return dict(_each((key, each, inner[1], below(where, key)) for key, each in value.items()))
            case str() if isinstance(plain, type) and issubclass(plain, StrEnum) and value not in [*plain]:
                with at(where):
                    raise unknown("value", value, plain)
            case list() if get_origin(plain) is tuple and inner[-1] is ...:
                items = ((n, each, inner[0], f"{where}[{n}]") for n, each in enumerate(value))
                return tuple(each for _, each in _each(items))
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        told = str(error)
        for word, toml_word in _TOML_WORDS.items():
            told = told.replace(f"`{word}", f"`{toml_word}").replace(f"| {word}", f"| {toml_word}")
        raise UsageError(
            "wrong-type", "{where}: {why}", where=where, why=told[0].lower() + told[1:]
        ) from None


def _each(items: Iterable[tuple[Any, Any, Any, str]]) -> list[tuple[Any, Any]]:
    """Return each key with its value as it is wanted. Raise the errors of all values."""
    found, errors = [], Collecting()
    for key, value, wanted, where in items:
        with errors.each():
            found.append((key, typed(value, wanted, where)))
    errors.check()
    return found


def _arms(wanted: Any) -> Iterator[Any]:
    """Yield the types that a value may have."""
    if get_origin(wanted) is Annotated:
        wanted = get_args(wanted)[0]
    if get_origin(wanted) is UnionType:
        for arm in get_args(wanted):
            yield from _arms(arm)
    else:
        yield wanted


def _struct(value: Mapping[str, Any], wanted: type[msgspec.Struct], where: str) -> Any:
    hints = get_type_hints(wanted, include_extras=True)
    given, errors = {}, Collecting()
    for key, each in value.items():
        with errors.each():
            if key not in hints:
                raise unknown(f"key of {where}" if where else "key", key, hints)
            given[key] = typed(each, hints[key], below(where, key))
    for field in msgspec.structs.fields(wanted):
        with errors.each():
            # A misspelled key may be the one that is missing.
            if field.required and field.name not in value and value.keys() <= hints.keys():
                raise UsageError("key-missing", "{where} lacks {key}", where=where or "it", key=field.name)
    errors.check()
    return wanted(**given)
