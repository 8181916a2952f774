"""The input: reads whole lines from a descriptor and parses them as commands."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The commands, and the fields that they require.
COMMANDS = {
    "configure": ("id", "config"),
    "produce": ("id", "topic", "first", "keys", "values"),
    "transact": ("id", "topic", "first", "keys", "values", "end", "flush"),
    "flush": ("id", "timeout_ms"),
    "close": ("id", "timeout_ms"),
    "subscribe": ("id",),
    "assign": ("id", "partitions"),
    "unsubscribe": ("id",),
    "seek": ("id", "position"),
    "pause": ("id", "partitions"),
    "resume": ("id", "partitions"),
    "commit": ("id",),
    "attempt": ("id", "call"),
    "process": ("id", "processing_ms"),
    "throw": ("id", "callback"),
    "wakeup": ("id",),
}


def lines(fd: int) -> Iterator[bytes]:
    """Yield the lines of a descriptor, unbuffered: a reader thread in ``sys.stdin`` would block interpreter exit."""
    parts: list[bytes] = []
    while True:
        data = os.read(fd, 65536)
        if not data:
            break
        *whole, rest = data.split(b"\n")
        for line in whole:
            parts.append(line)
            yield b"".join(parts)
            parts.clear()
        parts.append(rest)
    if any(parts):
        yield b"".join(parts)


def parse(line: bytes) -> dict[str, Any] | None:
    """Return the command in a line. None if it is not a command, or a known one that lacks a field."""
    try:
        command = json.loads(line)
    except ValueError:
        return None
    if not isinstance(command, dict) or not isinstance(command.get("cmd"), str):
        return None
    return command if all(field in command for field in COMMANDS.get(command["cmd"], ())) else None
