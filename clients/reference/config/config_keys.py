"""How settings are read: a table of keys, each with a parser and a default, and the history of the defaults.

Values may be Python values or the strings of a properties file. Unknown names are rejected with a suggestion, unlike
in Java, which only logs them: a fault harness must not run with a setting that was never applied. The producer's table
(producer_config.py) and the consumer's (consumer_config.py) share this code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clients.reference.errors import ConfigException
from clients.reference.ports import INT32_MAX, Node
from harness.model.errors import unknown

INT64_MAX = 2**63 - 1
NEWEST = "4.3"
OLDEST = (2, 0)
Release = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Key:
    """How one setting is read: its newest default, and a parser that raises ValueError with what it expected."""

    default: Any
    parse: Callable[[Any], Any]

    def read(self, name: str, value: Any) -> Any:
        """Return the parsed value. Raise ConfigException with the name, the value and what was expected."""
        try:
            return self.parse(value)
        except (ValueError, TypeError) as error:
            raise ConfigException(
                "config-value", "{name}={value!r}: {why}", name=name, value=value, why=error
            ) from None


@dataclass(frozen=True, slots=True)
class DefaultChange:
    """From release ``since`` on, ``setting`` has this default in the Java client."""

    setting: str
    since: Release
    default: Any


def release_of(version: str) -> Release:
    """Return ``4.3`` or ``4.3.1`` as a pair. Raise ConfigException if it is not a release, or is too old."""
    found = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*", version)
    release = (int(found[1]), int(found[2])) if found else (0, 0)
    if release < OLDEST:
        raise ConfigException(
            "unknown-release",
            "defaults_of={version!r}: expected a Kafka release from 2.0 on, such as {newest!r}",
            version=version,
            newest=NEWEST,
        )
    return release


def read_keys(
    what: str,
    keys: Mapping[str, Key],
    changes: Iterable[DefaultChange],
    given: Mapping[str, Any],
    release: Release,
    absent: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return every key's value: the given one, or else the default of that release.

    Raise UsageError for an unknown name, and ConfigException for a bad value or a name in ``absent``. ``absent`` maps
    unsupported settings to the reason. A name in it that ends in a dot matches every setting with that prefix.
    """
    for name in given:
        if name not in keys:
            prefix = name if name in (absent or {}) else name.partition(".")[0] + "."
            if absent and prefix in absent:
                raise ConfigException(
                    "config-not-settable", "{name} cannot be set: {why}", name=name, why=absent[prefix]
                )
            raise unknown(f"{what} setting", name, keys)
    of_release = {
        change.setting: change.default
        for change in sorted(changes, key=lambda change: change.since)
        if change.since <= release
    }
    return {
        name: key.read(name, given.get(name, of_release.get(name, key.default))) for name, key in keys.items()
    }


def refuse_repeated(given: Mapping[str, Any], lists: Iterable[str], release: Release) -> None:
    """CLI-CFG-07: since 4.2 (KIP-1161) a list must not contain duplicate or empty entries."""
    if release < (4, 2):
        return
    for name in lists:
        entries = split(given.get(name, ()))
        if len(entries) != len({str(entry) for entry in entries}) or any(entry == "" for entry in entries):
            raise ConfigException(
                "config-list",
                "{name}={value!r}: expected entries that are not empty, each once",
                name=name,
                value=given[name],
            )


def split(value: Any) -> list[Any]:
    """Return the entries of a list setting: a list unchanged, text split at commas. Empty text has no entries."""
    if isinstance(value, str):
        return [entry.strip() for entry in value.split(",")] if value.strip() else []
    return [entry.strip() if isinstance(entry, str) else entry for entry in value]


# Parsers


def integer(low: int, high: int = INT32_MAX) -> Callable[[Any], int]:
    """Parse a whole number from ``low`` to ``high``, or its text."""

    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError("expected a whole number")
        try:
            number = int(value)
        except ValueError:
            raise ValueError("expected a whole number") from None
        if not low <= number <= high:
            raise ValueError(f"expected a number from {low} to {high}")
        return number

    return parse


def long(low: int) -> Callable[[Any], int]:
    """Parse a 64-bit whole number, like Java's long."""
    return integer(low, INT64_MAX)


def gzip_level(value: Any) -> int:
    """Parse 1 to 9, or -1 for zlib's default."""
    level = integer(-1, 9)(value)
    if level == 0:
        raise ValueError("expected a number from 1 to 9, or -1")
    return level


def boolean(value: Any) -> bool:
    """Parse a bool, or "true" or "false" in any case."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError("expected true or false")


def text(value: Any) -> str:
    """Parse any text."""
    if not isinstance(value, str):
        raise ValueError("expected text")
    return value


def optional_text(value: Any) -> str | None:
    """Parse any text that is not blank, or None."""
    if value is None:
        return None
    if not text(value).strip():
        raise ValueError("expected text that is not empty")
    return text(value)


def one_of(choices: Mapping[str, Any] | Iterable[str], *, any_case: bool = False) -> Callable[[Any], Any]:
    """Parse one of the listed texts, or return the value that the mapping has for it."""
    meaning = choices if isinstance(choices, Mapping) else {name: name for name in choices}

    def parse(value: Any) -> Any:
        known = {name.lower(): name for name in meaning} if any_case else {name: name for name in meaning}
        wanted = str(value).lower() if any_case else str(value)
        if value is None or isinstance(value, bool) or wanted not in known:
            raise ValueError(f"expected one of {', '.join(meaning)}")
        return meaning[known[wanted]]

    return parse


def plugin(value: Any) -> Any:
    """Parse an object, a class, or "module:Class". None means no plug-in (plugins.py creates it)."""
    if isinstance(value, str) and not re.fullmatch(r"[\w.]+:[\w.]+", value):
        raise ValueError('expected an object, a class or "module:Class"')
    return value


def plugins(value: Any) -> tuple[Any, ...]:
    """Parse several plug-ins: a list, or text with commas."""
    return tuple(plugin(entry) for entry in split(value))


def bootstrap_servers(value: Any) -> tuple[Node, ...]:
    """Parse ``host:port`` entries, as "a:1,b:2" or a list. IPv6 hosts are in brackets. Ids count down from -1."""
    nodes: list[Node] = []
    for entry in (str(entry) for entry in split(value or ())):
        if not entry:
            continue
        host, colon, port = entry.rpartition(":")
        host = host.rpartition("//")[2].removeprefix("[").removesuffix("]")
        if not (colon and host and port.isdecimal() and port.isascii() and 0 < int(port) < 65536):
            raise ValueError(f"expected host:port, not {entry!r}")
        nodes.append(Node(-1 - len(nodes), host, int(port)))
    if not nodes:
        raise ValueError("expected at least one host:port")
    return tuple(nodes)
