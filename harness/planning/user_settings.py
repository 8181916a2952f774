"""The settings that the user gives on a command line: ``linger.ms=20``, or ``CLIENT:KEY=VALUE`` for a client's own.

Together they are one named configuration. Its name is made from its content, so that the same settings have the same
name in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.model.errors import KafkaTrialError, UsageError, unknown
from harness.model.path_names import shortened
from harness.model.spec import ClientRef, own_name
from harness.planning.setting_values import accepted, known
from harness.plugins import registry
from harness.plugins.client import reserved
from harness.plugins.workload import Config, Setting, Values
from harness.text import redaction
from harness.text.counting import some

#: The maximum length of a configuration's name, which is part of the names of trials.
MOST_CHARS: Final = 60


@dataclass(frozen=True)
class UserSettings:
    """Settings in the Java names, which every client gets, and each client's own: client -> key -> text."""

    java: Config = field(default_factory=dict)
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.java or self.own)

    @property
    def name(self) -> str:
        """The name of the configuration: its settings in order of their names, shortened if they are many."""
        return shortened(",".join(self.options()), MOST_CHARS)

    def overridden(self, by: UserSettings) -> UserSettings:
        """Return these settings, with others that take precedence."""
        clients = dict.fromkeys((*self.own, *by.own))
        own = {client: {**self.own.get(client, {}), **by.own.get(client, {})} for client in clients}
        return UserSettings(self.java | by.java, own)

    def options(self) -> list[str]:
        """Return the settings as a command line gives them, without secrets."""
        given = {
            own_name(client, key): text for client, keys in self.own.items() for key, text in keys.items()
        }
        parts = (redaction.settings(self.java), redaction.settings(given))
        return [f"{name}={written(value)}" for part in parts for name, value in sorted(part.items())]


#: No settings: the client gets those of the plan.
NONE: Final = UserSettings()


def written(value: Setting) -> str:
    """Return a value as it is typed."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parsed(texts: Sequence[str], clients: Iterable[ClientRef]) -> UserSettings:
    """Return the settings of several options, for these clients. Raise UsageError with everything that is wrong."""
    found = UserSettings({}, {})
    errors: list[KafkaTrialError] = []
    names = list(dict.fromkeys(ref.name for ref in clients))
    add = _adding(found, names)
    for text in texts:
        try:
            add(text)
        except KafkaTrialError as error:
            errors.append(error)
    if len(errors) > 1:
        raise UsageError(
            "settings-refused",
            "{told} cannot be used: {why}",
            told=some(len(errors), "setting"),
            why="; ".join(f"[{error.code}] {error}" for error in errors),
        )
    if errors:
        raise errors[0]
    return found


def _adding(found: UserSettings, clients: Sequence[str]) -> Callable[[str], None]:
    own: dict[str, dict[str, str]] = {}
    assert isinstance(found.own, dict)
    given: dict[str, Mapping[str, str]] = found.own

    def add(text: str) -> None:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(
                "setting-form", "-X takes KEY=VALUE or CLIENT:KEY=VALUE, not {text!r}", text=text
            )
        client, colon, key = name.partition(":")
        if name in found.java or key in own.get(client, {}):
            raise UsageError("setting-twice", "-X gives {name} twice", name=name)
        if not colon:
            found.java[name] = typed(name, value)
            return
        _check_own(client, key, clients)
        own.setdefault(client, {})[key] = value
        given[client] = own[client]

    return add


def typed(name: str, text: str) -> Setting:
    """Return the value of a setting in its type. Raise UsageError for an unknown setting or a value that it refuses."""
    for values in known().get(name, ()):
        value = _of_type(values, text)
        if value is not None:
            return accepted(name, value)
    return accepted(name, text)


def _of_type(values: Values, text: str) -> Setting | None:
    match values:
        case None:
            return {"true": True, "false": False}.get(text.lower())
        case range():
            digits = text.removeprefix("-")
            return int(text) if digits.isascii() and digits.isdecimal() else None
    return text


def _check_own(client: str, key: str, clients: Sequence[str]) -> None:
    if client not in clients:
        if client not in registry.names("clients"):
            raise unknown("client", client, {*clients, *registry.names("clients")})
        raise UsageError(
            "setting-of-absent-client",
            "{name} is a setting of {client}, which is not on trial here; on trial: {clients}",
            name=own_name(client, key),
            client=client,
            clients=tuple(clients),
        )
    if not key:
        raise UsageError("setting-form", "-X takes CLIENT:KEY=VALUE, not {text!r}", text=f"{client}:=")
    why = f"it is also a name of Java's; use -X {key}=VALUE" if key in known() else None
    if why is None and client in registry.names("clients"):
        why = reserved(registry.client(client), key)
    if why is not None:
        raise UsageError(
            "own-setting-refused", "{name} cannot be set: {why}", name=own_name(client, key), why=why
        )
