"""Documents as bytes, with edits: JSON, JSON lines and TOML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.attacks.formats.edits import Edits, bytewise, structured
from tests.attacks.formats.hostile_values import Raw


def json_document(value: Any, edits: Edits) -> bytes:
    """Return a JSON document with the edits."""
    return bytewise(as_json(structured(value, edits[0])), edits[1])


def json_lines(values: Sequence[Any], edits: Edits) -> bytes:
    """Return JSON lines with the edits, which may also remove, repeat or replace whole lines."""
    edited = structured(values, edits[0])
    lines = edited if isinstance(edited, list) else [edited]
    return bytewise(b"".join(as_json(line) + b"\n" for line in lines), edits[1])


def toml_document(value: Any, text: bytes, edits: Edits) -> bytes:
    """Return a TOML document with the edits. ``text`` is ``value`` as written, used for byte edits alone."""
    if not edits[0]:
        return bytewise(text, edits[1])
    edited = structured(value, edits[0])
    return bytewise(as_toml(edited) if isinstance(edited, dict) else _toml_value(edited), edits[1])


def as_json(value: Any) -> bytes:
    """Return JSON in which each ``Raw`` is written as it is."""
    if not _has_raw(value):
        return json.dumps(value).encode()
    raws: list[bytes] = []

    def placeholders(each: Any) -> Any:
        if isinstance(each, Raw):
            raws.append(each.text)
            return f"\0raw{len(raws) - 1}\0"
        if isinstance(each, dict):
            return {key: placeholders(inner) for key, inner in each.items()}
        return [*map(placeholders, each)] if isinstance(each, list | tuple) else each

    text = json.dumps(placeholders(value)).encode()
    for number, raw in enumerate(raws):
        text = text.replace(b'"\\u0000raw%d\\u0000"' % number, raw)
    return text


def _has_raw(value: Any) -> bool:
    if isinstance(value, Raw):
        return True
    if isinstance(value, dict):
        return any(map(_has_raw, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_raw, value))


def as_toml(value: dict[str, Any]) -> bytes:
    """Return TOML, with keys at the top level and inline tables below."""
    return b"".join(_toml_key(key) + b" = " + _toml_value(inner) + b"\n" for key, inner in value.items())


def _toml_key(key: str) -> bytes:
    return _toml_value(str(key))


def _toml_value(value: Any) -> bytes:
    match value:
        case Raw(text):
            return text
        case None:
            return b""
        case bool():
            return b"true" if value else b"false"
        case dict():
            return (
                b"{"
                + b", ".join(_toml_key(key) + b" = " + _toml_value(inner) for key, inner in value.items())
                + b"}"
            )
        case list() | tuple():
            return b"[" + b", ".join(map(_toml_value, value)) + b"]"
        case str():
            return json.dumps(value).encode()
    return str(value).encode()
