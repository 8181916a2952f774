"""How settings are read: a table of keys, each with a parser and a default, and the history of the defaults.

Values may be Python values or the strings of a properties file. A name that is neither the client's nor read by a
plug-in is rejected with a suggestion, unlike in Java, which only logs it: a fault harness must not run with a setting
that was never applied. The producer's table (producer_config.py) and the consumer's (consumer_config.py) share this
code.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clients.reference.config.java_text import entries, trimmed, whole_number
from clients.reference.errors import ConfigException
from clients.reference.ports import INT32_MAX, Node
from harness.model.errors import unknown

logger = logging.getLogger("kafka-trial.reference")

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
INT32_MIN = -INT32_MAX - 1
NEWEST = "4.3"
OLDEST = (2, 0)
Release = tuple[int, int]


class NotSupportedError(ValueError):
    """Java accepts the value, and the reference client does not. The message is the reason."""


@dataclass(frozen=True, slots=True)
class Key:
    """How one setting is read: its newest default, and a parser that raises ValueError with what it expected."""

    default: Any
    parse: Callable[[Any], Any]

    @property
    def names_plug_ins(self) -> bool:
        """Whether the value is a plug-in or several."""
        return self.parse in (plugin, plugins)

    def read(self, name: str, value: Any) -> Any:
        """Return the parsed value. Raise ConfigException with the name, the value and what was expected."""
        try:
            return self.parse(value)
        except NotSupportedError as reason:
            raise ConfigException(
                "config-not-supported",
                "{name}={value!r} is not supported: {why}",
                name=name,
                value=value,
                why=reason,
            ) from None
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
    keys: Mapping[str, Key], changes: Iterable[DefaultChange], given: Mapping[str, Any], release: Release
) -> dict[str, Any]:
    """Return every key's value: the given one, or else the default of that release. Raise ConfigException."""
    of_release = {
        change.setting: change.default
        for change in sorted(changes, key=lambda change: change.since)
        if change.since <= release
    }
    values = {name: given.get(name, of_release.get(name, key.default)) for name, key in keys.items()}
    if release >= (4, 2):
        for name in given:
            if name in keys and isinstance(keys[name].default, tuple):
                values[name] = _each_once(name, given[name])
    return {name: keys[name].read(name, value) for name, value in values.items()}


def _each_once(name: str, given: Any) -> Any:
    """CLI-CFG-07: since 4.2 (KIP-1161) a list has no empty entries, and repeated ones are dropped with a warning."""
    if not isinstance(given, str | list | tuple):
        return given
    listed = split(given)
    if "" in listed:
        raise ConfigException(
            "config-list", "{name}={value!r}: expected entries that are not empty", name=name, value=given
        )
    once = [entry for place, entry in enumerate(listed) if entry not in listed[:place]]
    if len(once) < len(listed):
        logger.warning("%s: repeated entries are ignored", name)
    return once


def refuse_foreign(
    what: str, keys: Mapping[str, Key], absent: Mapping[str, str], given: Mapping[str, Any]
) -> None:
    """Raise ConfigException for a setting in ``absent`` (Java's others, with the reasons), or UsageError if unknown.

    With plug-ins, an unknown setting may belong to one of them. One has to read it then (plugins.py).
    """
    for name in given:
        if name in absent:
            raise ConfigException(
                "config-not-settable", "{name} cannot be set: {why}", name=name, why=absent[name]
            )
    own = own_settings(keys, given)
    if own and not any(given.get(name) for name, key in keys.items() if key.names_plug_ins):
        raise unknown(f"{what} setting", next(iter(own)), keys)


def own_settings(keys: Mapping[str, Key], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are not the client's, and so belong to its plug-ins."""
    return {name: value for name, value in given.items() if name not in keys}


def split(value: Any) -> list[Any]:
    """Return the entries of a list setting: a list unchanged, text split at commas. Empty text has no entries.

    Raise TypeError for anything else.
    """
    if isinstance(value, str):
        return entries(value)
    if not isinstance(value, list | tuple):
        raise TypeError("expected a list, or text with commas")
    return list(value)


# Parsers


def integer(low: int, high: int = INT32_MAX) -> Callable[[Any], int]:
    """Parse a whole number from ``low`` to ``high``, or its text."""

    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError("expected a whole number")
        number = whole_number(value) if isinstance(value, str) else value
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
    if isinstance(value, str) and trimmed(value).lower() in ("true", "false"):
        return trimmed(value).lower() == "true"
    raise ValueError("expected true or false")


def text(value: Any) -> str:
    """Parse any text. White space around it is removed."""
    if not isinstance(value, str):
        raise ValueError("expected text")
    return trimmed(value)


def any_text(value: Any) -> str | None:
    """Parse any text, or None."""
    return None if value is None else text(value)


def optional_text(value: Any) -> str | None:
    """Parse any text that is not blank, or None."""
    if value is None:
        return None
    if not text(value):
        raise ValueError("expected text that is not empty")
    return text(value)


def one_of(
    choices: Mapping[str, Any] | Iterable[str],
    *,
    any_case: bool = False,
    unsupported: Mapping[str, str] | None = None,
) -> Callable[[Any], Any]:
    """Parse one of the listed texts, or return the value that the mapping has for it.

    ``unsupported`` maps Java's other choices to the reason why they cannot be used.
    """
    meaning = choices if isinstance(choices, Mapping) else {name: name for name in choices}
    reasons = unsupported or {}

    def parse(value: Any) -> Any:
        known = {name.lower() if any_case else name: name for name in (*meaning, *reasons)}
        is_number = isinstance(value, int) and not isinstance(value, bool)
        wanted = trimmed(value) if isinstance(value, str) else str(value) if is_number else ""
        name = known.get(wanted.lower() if any_case else wanted)
        if name is None:
            raise ValueError(f"expected one of {', '.join(meaning)}")
        if name in reasons:
            raise NotSupportedError(reasons[name])
        return meaning[name]

    return parse


def plugin(value: Any) -> Any:
    """Parse an object, a class, "module:Class", or a Java class. None means no plug-in (plugins.py creates it)."""
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"[\w.$]+|[\w.]+:[\w.]+", trimmed(value)):
        raise ValueError('expected an object, a class, "module:Class" or the name of a Java class')
    return trimmed(value)


def plugins(value: Any) -> tuple[Any, ...]:
    """Parse several plug-ins: a list, or text with commas. Empty entries remain."""
    return tuple(entry if entry == "" else plugin(entry) for entry in split(value))


def bootstrap_servers(value: Any) -> tuple[Node, ...]:
    """Parse ``host:port`` entries, as "a:1,b:2" or a list. IPv6 hosts are in brackets. Ids count down from -1."""
    nodes: list[Node] = []
    for entry in (str(entry).strip() for entry in split(value or ())):
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
