"""The commands and settings that the user typed, with secrets. They stay in this process; plans have them redacted.

A plan stores the command of a client as :mod:`harness.text.redaction` returns it, from the moment the plan is made.
Settings are redacted when they are written. To start or configure a client, take the true values from here. For a
stored plan they are known only after the user has typed them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from harness.model.errors import UsageError
from harness.model.spec import ClientRef, Plan, TrialSpec
from harness.text import redaction
from harness.text.escaping import is_text
from harness.text.redaction import MARK

Config = Mapping[str, str | int | bool]

_commands: dict[tuple[str, ...], tuple[str, ...]] = {}
#: (name, stored value) -> all true values that are stored like this.
_settings: dict[tuple[str, str], set[str | int]] = {}


def forget() -> None:
    """Forget the true commands and settings, as in a new process."""
    _commands.clear()
    _settings.clear()


def stored_command(argv: Sequence[str]) -> tuple[str, ...]:
    """Return ``argv`` as a plan stores it.

    Raise UsageError if it cannot be stored, or if another command looks the same.
    """
    for word in argv:
        if MARK in word:
            raise UsageError(
                "secret-not-stored",
                "{word} replaces a secret that was not stored; give the secret itself",
                word=word,
            )
        if not is_text(word):
            raise UsageError(
                "word-not-utf-8", "{word!r} is not valid UTF-8, so a plan cannot store it", word=word
            )
    secrets: set[str] = set()
    stored = redaction.argv(argv, secrets)
    if _commands.setdefault(stored, tuple(argv)) != tuple(argv):
        raise UsageError(
            "commands-differ-in-secrets",
            "two commands {command} differ only in redacted words; run them one after the other",
            command=" ".join(stored),
        )
    redaction.remember(secrets)
    return stored


def command(client: ClientRef) -> tuple[str, ...]:
    """Return the true command of a client. Raise UsageError if it was redacted and not typed again."""
    stored = client.command
    if stored in _commands or not any(MARK in word for word in stored):
        return _commands.get(stored, stored)
    raise UsageError(
        "command-stored-redacted",
        "the command of {client} was stored without {lacking}",
        hint=f"give all of it again after --: ... -- {' '.join(stored)}",
        client=client,
        lacking=tuple(_lacking(stored)),
    )


def is_typed(client: ClientRef) -> bool:
    """True if the user typed the command of this client in this process."""
    return client.command in _commands


def again(argv: Sequence[str], plan: Plan) -> None:
    """Learn the secrets of a stored plan from a command that was typed again.

    Raise UsageError if the plan does not have it.
    """
    if not argv:
        return
    commands = dict.fromkeys(spec.client.command for spec in plan.trials if spec.client.command)
    if stored_command(argv) not in commands:
        told = " or ".join(" ".join(each) for each in commands) or "none"
        raise UsageError(
            "command-differs-from-plan",
            "the command after -- must be that of the stored plan: {told}",
            told=told,
        )


def stored_spec(spec: TrialSpec) -> TrialSpec:
    """Return the spec as it may be written to a file."""
    secrets: set[str] = set()
    stored = redaction.settings(spec.config, secrets)
    own = redaction.settings(spec.client_config, secrets)
    if stored == spec.config and own == spec.client_config:
        return spec
    kept: dict[str, str | int | bool] = {**stored, **own}
    given: dict[str, str | int | bool] = {**spec.config, **spec.client_config}
    for name, value in given.items():
        if kept[name] != value:
            _settings.setdefault((name, str(kept[name])), set()).add(value)
    redaction.remember(secrets)
    return replace(spec, config=stored, client_config=own)


def stored_plan(plan: Plan) -> Plan:
    """Return the plan as it may be written to a file."""
    return replace(plan, trials=tuple(map(stored_spec, plan.trials)))


def settings(config: Config) -> dict[str, str | int | bool]:
    """Return the true settings. Raise UsageError for a redacted one that is not known in this process."""
    return {name: _setting(name, value) for name, value in config.items()}


def texts(config: Mapping[str, str]) -> dict[str, str]:
    """Return a client's own true settings. Raise UsageError as :func:`settings` does."""
    return {name: str(value) for name, value in settings(config).items()}


def assert_known(specs: Iterable[TrialSpec]) -> None:
    """Raise UsageError for a plan with a redacted setting, before anything starts."""
    for spec in specs:
        settings({**spec.config, **spec.client_config})


def _setting(name: str, value: str | int | bool) -> str | int | bool:
    if not isinstance(value, str) or MARK not in value:
        return value
    known = _settings.get((name, value), set())
    if len(known) != 1:
        raise UsageError(
            "setting-stored-redacted",
            "the setting {name} was stored without its value; make the plan again instead of reading the stored one",
            name=name,
        )
    return next(iter(known))


def _lacking(stored: Sequence[str]) -> list[str]:
    """Return the missing values, each by what it belongs to."""
    named = []
    for before, word in zip(("", *stored), stored, strict=False):
        if word == MARK:
            named.append(f"the value of {before}")
        elif MARK in word:
            named.append(f"the secret in {word}")
    return named
