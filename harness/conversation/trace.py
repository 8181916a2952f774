"""The trace that a client leaves in a file: read as what it is, bytes that nobody vouches for.

The client had the file's folder to itself, so anything may be there in its place: a link, a pipe on which a reader
would wait for ever, a file that says it is larger than the disk.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final

import msgspec

from harness import redaction
from harness.conversation.bounds import UNREADABLE, cut, depth, why
from harness.conversation.discreet import discreet_row
from harness.conversation.limits import LINE_BYTES, NESTING, TEXT_CHARS, TRACE_BYTES, Meter
from harness.errors import ClientBroken

_decoder: Final = msgspec.json.Decoder(dict[str, Any])


def read(path: Path, meter: Meter) -> tuple[dict[str, Any], ...]:
    """Its lines, none where there is no file. ClientBroken: it is no file, too large, or no JSON objects in lines."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _broken(meter, f"it cannot be opened: {error.strerror}") from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise _broken(meter, "it is not a regular file")
    with os.fdopen(fd, "rb") as file:
        meter.hold(TRACE_BYTES, status.st_size)
        lines = file.read(status.st_size).split(b"\n")
    return tuple(_row(line, number, meter) for number, line in enumerate(lines, 1) if line)


def _row(line: bytes, number: int, meter: Meter) -> dict[str, Any]:
    meter.hold(LINE_BYTES, len(line))
    try:
        row = _decoder.decode(line)
        if line.count(b"[") + line.count(b"{") > NESTING.base and depth(row) > NESTING.base:
            raise RecursionError
    except UNREADABLE as error:
        raise _broken(meter, f"line {number}: {why(error, line)}") from None
    if len(line) > TEXT_CHARS.base:
        row = {cut(name): _cut(value) for name, value in row.items()}
    told = line.decode()
    return row if redaction.text(told) == told else discreet_row(row)


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


def _broken(meter: Meter, sentence: str) -> ClientBroken:
    return ClientBroken(f"the trace of client {meter.client} cannot be read: {sentence}")
