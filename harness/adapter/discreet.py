"""Redact the secrets that a client was given from its output, because clients echo their settings."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from harness.model.consumer_contract import ConsumerError, OffsetsCommitted, PartitionsAssigned
from harness.model.contract import AnyEvent, Configured, Fatal, OpComplete, StartupComplete, UnknownCommand
from harness.text import redaction

#: Longer lines are processed in parts, so that other threads can run in between.
PART_BYTES: Final = 8_192


def discreet(event: AnyEvent) -> AnyEvent:
    """Return the event redacted for storage and display."""
    match event:
        case Configured():
            applied = {
                name: (redaction.text(own), redaction.value(name, redaction.value(own, value)))
                for name, (own, value) in event.applied.items()
            }
            not_set = {name: redaction.text(why) for name, why in event.not_set.items()}
            own = {name: redaction.text(why) for name, why in event.client_not_set.items()}
            return replace(event, applied=applied, not_set=not_set, client_not_set=own)
        case Fatal():
            return _with_redacted(event, "error", "message")
        case ConsumerError():
            return _with_redacted(event, "call", "error", "message")
        case StartupComplete():
            told = replace(event, features=[redaction.text(each) for each in event.features])
            return _with_redacted(told, "client", "client_version", "language", "library_version")
        case PartitionsAssigned():
            return _with_redacted(event, "member_id")
        case OffsetsCommitted():
            return _with_redacted(event, "error")
        case UnknownCommand():
            return _with_redacted(event, "cmd")
        case OpComplete() if any(event.error):
            redacted = {error: error and redaction.text(error) for error in set(event.error)}
            return replace(event, error=[redacted[error] for error in event.error])
        case _:
            return event


def _with_redacted(event: AnyEvent, *fields: str) -> AnyEvent:
    """Return the event with these fields redacted. Those that are null stay so."""
    texts = {name: getattr(event, name) for name in fields}
    return replace(event, **{name: text and redaction.text(text) for name, text in texts.items()})


def discreet_row(value: Any, name: str = "") -> Any:
    """Return a JSON value of a trace, redacted for storage. ``name`` is the key that it belongs to."""
    match value:
        case str():
            return redaction.value(name, value)
        case dict():
            return {redaction.text(key): discreet_row(inner, key) for key, inner in value.items()}
        case list():
            return [discreet_row(inner, name) for inner in value]
        case _:
            return value


def rewrite(log: Path, most_bytes: int) -> None:
    """Redact a complete log in place. Everything after ``most_bytes`` is removed."""
    with suppress(OSError):  # it is missing or not a regular file, which its readers report
        fd = os.open(log, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "r+b") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return
            said = file.read(most_bytes)
            told = b"".join(map(_redacted, _parts(redaction.without_keys(said))))
            if told != said or file.read(1):
                file.seek(0)
                file.write(told)
                file.truncate()


def _parts(said: bytes) -> list[bytes]:
    return [
        line[at : at + PART_BYTES]
        for line in said.splitlines(keepends=True)
        for at in range(0, len(line), PART_BYTES)
    ]


def _redacted(part: bytes) -> bytes:
    return redaction.text(part.decode(errors="surrogateescape")).encode(errors="surrogateescape")
