"""Select scenarios (name or glob), clients (``name@version``) and brokers (``kind:id``) from what the user typed.

Every name is looked up before anything starts. An unknown name is a UsageError that suggests a similar one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.model.errors import NothingSelected, UsageError, unknown
from harness.model.mode import Mode
from harness.model.spec import ClientRef
from harness.model.verdicts import Guarantee
from harness.planning import own_commands
from harness.planning.own_load import OwnLoad, applied
from harness.plugins import registry
from harness.plugins.scenario import Scenario
from harness.text.globs import matches

_OWN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)
DEFAULT_CLIENTS = ("reference", "confluent-kafka")
DEFAULT_BROKER = "local:4.3.1x1"


def scenarios(patterns: Sequence[str], guarantees: Sequence[str], mode: Mode = Mode.LIVE) -> list[Scenario]:
    """Return the scenarios of ``mode`` that match any pattern, under the wanted guarantees only.

    Without a pattern these are all scenarios except those that run only if named.
    """
    known = registry.table("scenarios")
    for pattern in patterns:
        if not any(matches(name, pattern) for name in known):
            raise unknown("scenario", pattern, known)
    wanted = {guarantee(name) for name in guarantees} or set(Guarantee)
    chosen = [
        _under(scenario, wanted)
        for name, scenario in known.items()
        if any(matches(name, pattern) for pattern in patterns) or not (patterns or scenario.opt_in)
        if mode in scenario.modes
    ]
    if not chosen:
        raise UsageError(
            "scenario-not-in-mode",
            "{patterns} cannot run in {mode} mode",
            patterns=tuple(patterns),
            mode=mode,
        )
    if not any(scenario.guarantees for scenario in chosen):
        raise NothingSelected(
            "no-scenario", "none of these scenarios has the guarantee {wanted}", wanted=tuple(sorted(wanted))
        )
    return chosen


def loaded(chosen: Sequence[Scenario], own: OwnLoad | None, folder: Path = Path()) -> list[Scenario]:
    """Return the scenarios with the user's own load, if there is one."""
    return list(chosen) if own is None else [applied(own, scenario, folder) for scenario in chosen]


def guarantee(name: str) -> Guarantee:
    """Return the guarantee with this name. Raise UsageError if there is none."""
    if name not in set(Guarantee):
        raise unknown("guarantee", name, list(Guarantee))
    return Guarantee(name)


def _under(scenario: Scenario, wanted: set[Guarantee]) -> Scenario:
    return replace(scenario, guarantees=tuple(g for g in scenario.guarantees if g in wanted))


def clients(names: Sequence[str], command: Sequence[str], own_name: str | None = None) -> list[ClientRef]:
    """Return the clients for ``NAME`` (its pinned version) or ``NAME@VERSION``, and the user's command, if any.

    ``own_name`` is the command's name; default: that of its program.
    """
    if own_name is not None:
        _check_own_name(own_name, command)
    chosen = [_client(name) for name in (names or (() if command else DEFAULT_CLIENTS))]
    if command:
        assert_program(command[0], command[0])
        chosen.append(own_commands.client(command, own_name))
    return list(dict.fromkeys(chosen))


def assert_program(path: str, written: str) -> None:
    """Raise UsageError, with what the user wrote, if there is no program at ``path``."""
    if shutil.which(path) is None:
        raise UsageError(
            "program-missing",
            "{program} is not an executable program; a command is needed after --",
            program=written,
        )


def _check_own_name(name: str, command: Sequence[str]) -> None:
    if not command:
        raise UsageError("name-without-command", "--name names your own command, which is needed after --")
    if not _OWN_NAME.fullmatch(name):
        raise UsageError(
            "own-name",
            "--name takes 1 to 40 of A-Z, a-z, 0-9, ., - and _, because the name becomes part of the names of trials; "
            "not {name!r}",
            name=name,
        )


def _client(text: str) -> ClientRef:
    name, at, version = text.partition("@")
    kind = registry.client(name)
    if at and not version:
        raise UsageError(
            "client-without-version",
            "client {text!r} has no version after the @; try {name}@{version}",
            text=text,
            name=name,
            version=kind.default_version,
        )
    return ClientRef(name, version or kind.default_version)


def brokers(names: Sequence[str]) -> list[str]:
    """Return the brokers, each ``kind:id`` and accepted by its kind."""
    chosen = list(dict.fromkeys(names or (DEFAULT_BROKER,)))
    for text in chosen:
        kind, colon, broker_id = text.partition(":")
        found = registry.broker(kind)
        if not colon:
            raise UsageError(
                "broker-without-version",
                "broker {text!r} has no id; write it as KIND:ID, such as {example}",
                text=text,
                example=DEFAULT_BROKER,
            )
        found.validate(broker_id)
    return chosen
