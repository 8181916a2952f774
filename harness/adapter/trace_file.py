"""Read the trace file of a client, as untrusted bytes.

Only the client had access to the file's folder, so there may be anything in its place: a link, a pipe that would block
its reader forever, or a file that claims to be larger than the disk.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.adapter.discreet import discreet_row
from harness.files import open_stored
from harness.limits.memory import needed
from harness.limits.meter import EVIDENCE, LINE_BYTES, NESTING, TEXT_CHARS, TRACE_BYTES, Meter
from harness.limits.parsed import UNREADABLE, cut, depth, why
from harness.model.errors import ClientBroken
from harness.text import redaction

_decoder: Final = msgspec.json.Decoder(dict[str, Any])


def read(path: Path, meter: Meter) -> tuple[dict[str, Any], ...]:
    """Return the rows of the trace, or none if there is no file.

    Raises ClientBroken if it is not a regular file, too large, or not JSON objects in lines.
    """
    try:
        fd = open_stored(path, path.parents[1])
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ClientBroken(
            "trace-unreadable",
            "the trace of client {client} cannot be read: {why}",
            client=meter.client,
            why=error.strerror or error,
        ) from None
    with os.fdopen(fd, "rb") as file:
        size_bytes = os.fstat(fd).st_size
        meter.hold(TRACE_BYTES, size_bytes)
        data = file.read(size_bytes)
    meter.hold(EVIDENCE, needed(data))
    return tuple(_row(line, number, meter) for number, line in enumerate(data.split(b"\n"), 1) if line)


def _row(line: bytes, number: int, meter: Meter) -> dict[str, Any]:
    meter.hold(LINE_BYTES, len(line))
    try:
        row = _decoder.decode(line)
        if line.count(b"[") + line.count(b"{") > NESTING.base and depth(row) > NESTING.base:
            raise RecursionError
    except UNREADABLE as error:
        raise ClientBroken(
            "trace-line-malformed",
            "the trace of client {client} cannot be read: line {line}: {why}",
            client=meter.client,
            line=number,
            why=why(error, line),
        ) from None
    # Long strings are cut first, because no other thread runs during a search for secrets.
    if len(line) > TEXT_CHARS.base:
        row = {cut(name): _cut(value) for name, value in row.items()}
    elif redaction.text(told := line.decode()) == told:
        return row
    kept: dict[str, Any] = discreet_row(row)
    return kept


def _cut(value: Any) -> Any:
    match value:
        case str():
            return cut(value)
        case dict():
            return {cut(name): _cut(inner) for name, inner in value.items()}
        case list():
            return [_cut(inner) for inner in value]
        case _:
            return value
