"""The file of known failures: TOML, with one ``[[known]]`` table per entry. Anything invalid is an error.

A change keeps the rest of the file as it was written, including comments: entries are appended, or only their own lines
are removed.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from harness.baseline.known import KnownFailure
from harness.files import read_named
from harness.model.errors import UsageError, unknown
from harness.model.verdicts import Guarantee, Level
from harness.planning.strict_toml import at, parsed
from harness.plugins import registry
from harness.text import globs
from harness.text.globs import matches

TABLE = "known"
HEADER = "# Known failures, each with its reason: `kafka-trial baseline check RUN --file THIS` says what changed.\n"
_FIELDS = KnownFailure.__struct_fields__
_ENTRY = re.compile(rf"[ \t]*\[\[[ \t]*{TABLE}[ \t]*\]\]")
_log = logging.getLogger(__name__)


def load(source: str, today: date | None = None) -> tuple[KnownFailure, ...]:
    """Return the entries of ``source`` (a file, or a name of ``kafka_trial.baselines``) in force ``today``.

    Raises UsageError for a file that does not exist or does not contain valid known failures.
    """
    entries = parse(read(source), source)
    kept = in_force(entries, today)
    for entry in entries:
        if entry not in kept:
            _log.warning("%s: %s expired on %s and covers nothing any more", source, entry, entry.expires)
    return kept


def in_force(entries: Iterable[KnownFailure], today: date | None = None) -> tuple[KnownFailure, ...]:
    """Return the entries that have not expired."""
    day = today or datetime.now(UTC).date()
    return tuple(entry for entry in entries if not entry.expired(day))


def read(source: str) -> str:
    """Return the text of ``source``, which is as for :func:`load`."""
    named = registry.names("baselines")
    path = registry.table("baselines")[source] if source in named else Path(source)
    try:
        text: str = read_named(path).decode()
    except FileNotFoundError:
        names = f"; by name there is {', '.join(named)}" if named else ""
        raise UsageError(
            "no-known-failures",
            "there is no file {source} of known failures{names}",
            source=source,
            names=names,
        ) from None
    except OSError as error:
        raise UsageError(
            "cannot-read", "cannot read {path}: {why}", path=source, why=error.strerror or error
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError("cannot-read", "cannot read {path}: {why}", path=source, why=error) from error
    return text


def parse(text: str, where: str) -> tuple[KnownFailure, ...]:
    """Return the entries of a file's text, in its order. Raises UsageError, naming ``where``, for invalid ones."""
    with at(where):
        document = parsed(text)
    for key in document:
        if key != TABLE:
            raise unknown("key", key, [TABLE]).at(where)
    tables = document.get(TABLE, [])
    if not isinstance(tables, list):
        raise UsageError(
            "entry-not-a-table",
            "an entry must begin with [[{table}]], in double brackets",
            table=TABLE,
        ).at(where)
    return tuple(_entry(table, f"{where}, entry {number}") for number, table in enumerate(tables, 1))


def appended(text: str, entries: Iterable[KnownFailure]) -> str:
    """Return ``text`` with more entries at its end."""
    parts = [text.rstrip("\n") or HEADER.rstrip("\n"), *map(_written, entries)]
    return "\n\n".join(parts) + "\n"


def without(text: str, dropped: Collection[int], where: str) -> str:
    """Return ``text`` without the entries at these positions (from 0) and the comments directly above them.

    Raises UsageError if the entries are not written as one table each.
    """
    lines = text.splitlines(keepends=True)
    starts = [_begin(lines, at) for at, line in enumerate(lines) if _ENTRY.match(line)]
    tables = list(pairwise([*starts, len(lines)]))
    gone = {at for place, table in enumerate(tables) if place in dropped for at in range(*table)}
    rest = "".join(line for at, line in enumerate(lines) if at not in gone)
    kept = tuple(entry for place, entry in enumerate(parse(text, where)) if place not in dropped)
    with suppress(UsageError):
        if parse(rest, where) == kept:
            return rest
    raise UsageError(
        "entries-not-separate",
        "entries that are not separate [[{table}]] tables cannot be removed automatically",
        table=TABLE,
    ).at(where)


def _begin(lines: list[str], at: int) -> int:
    while at and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return at


def _entry(table: Any, where: str) -> KnownFailure:
    if not isinstance(table, dict):
        raise UsageError("entry-not-a-table", "{where} is not a table", where=where)
    for key in table:
        if key not in _FIELDS:
            raise unknown("key", key, _FIELDS).at(where)
    try:
        entry = msgspec.convert(table, KnownFailure)
    except msgspec.ValidationError as error:
        raise UsageError("entry-malformed", "{why}", why=error).at(where) from error
    if (problem := _problem(entry)) is not None:
        raise problem.at(where)
    return entry


def _problem(entry: KnownFailure) -> UsageError | None:
    """Return why an entry is invalid: it lacks a client, a failure or a reason, or names something unknown."""
    name, at, version = entry.client.rpartition("@")
    checks, scenarios = registry.names("checks"), registry.names("scenarios")
    if not at or not version:
        return UsageError(
            "client-without-version",
            "client {client!r} has no version; write NAME@VERSION, or NAME@* for any",
            client=entry.client,
        )
    if len(entry.client) > globs.LONGEST:
        return UsageError(
            "client-too-long",
            "a client and its version have at most {most} characters, got {count:,}",
            most=globs.LONGEST,
            count=len(entry.client),
        )
    if not name or set(name) & set("*?["):
        return UsageError(
            "not-one-client",
            "client {client!r} is not one client: name the client that fails",
            client=entry.client,
        )
    if not entry.reason.strip():
        return UsageError("entry-without-reason", "an entry needs a reason")
    if entry.anomaly is None and entry.requirement is None:
        return UsageError("entry-without-failure", "an entry needs an anomaly or a requirement")
    if entry.requirement is None and entry.anomaly not in checks:
        return UsageError(
            "unknown-anomaly",
            "{why} (an anomaly that is not a check's name needs its requirement)",
            why=unknown("anomaly", str(entry.anomaly), checks),
        )
    if not any(matches(name, entry.scenario) for name in scenarios):
        return unknown("scenario", entry.scenario, scenarios)
    if entry.guarantee is not None and entry.guarantee not in set(Guarantee):
        return unknown("guarantee", entry.guarantee, Guarantee)
    if entry.level is not None and entry.level not in set(Level):
        return unknown("level", entry.level, Level)
    return None


def _written(entry: KnownFailure) -> str:
    values = {key: value for key in _FIELDS if (value := getattr(entry, key)) not in (None, False)}
    values = {key: value for key, value in values.items() if (key, value) != ("scenario", "*")}
    return "\n".join([f"[[{TABLE}]]", *(f"{key} = {_literal(value)}" for key, value in values.items())])


def _literal(value: str | bool | date) -> str:
    if isinstance(value, str):
        # JSON strings are valid TOML, except for one character that TOML requires to be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return "true" if value is True else value.isoformat() if isinstance(value, date) else "false"
