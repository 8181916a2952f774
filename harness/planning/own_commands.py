"""Clients that are a command of the user: the names they may have, and why a file alone cannot start them.

A plan in a file is data. The clients that it names are registered ones; a command is a program that the file's author
chose. It runs only after its arguments were shown, and with the user's permission.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from harness.model.errors import UsageError
from harness.model.spec import OWN, ClientRef
from harness.planning import typed_settings
from harness.plugins import registry
from harness.text.escaping import MOST_CHARS, visible

ALLOW = "--allow-command"


def client(command: Sequence[str], name: str | None = None) -> ClientRef:
    """Return the client for a command. Its name is ``name``, or the program's name if no registered client has that."""
    if name is not None:
        ref = ClientRef(name, OWN, typed_settings.stored_command(command))
        check([ref])
        return ref
    program = PurePath(command[0]).name
    stored = typed_settings.stored_command(command)
    return ClientRef(f"own-{program}" if _is_registered(program) else program, OWN, stored)


def check(clients: Iterable[ClientRef]) -> None:
    """Raise UsageError for a command with the name of a registered client."""
    for ref in clients:
        if ref.command and _is_registered(ref.name):
            raise UsageError(
                "command-under-registered-name",
                "the command {command} cannot have the name {name}, which belongs to a registered client; give it "
                "another name",
                command=shlex.join(ref.command),
                name=ref.name,
            )


def allow(clients: Iterable[ClientRef], is_allowed: bool, say: Callable[[str], None]) -> None:
    """Print the commands that a plan from a file will run. Raise UsageError for the first one if they are not allowed.

    A command that the user has typed again needs no further permission.
    """
    for ref in dict.fromkeys(clients):
        if not ref.command:
            continue
        typed_settings.command(ref)  # Raises UsageError if secrets are missing.
        shown = shlex.join(ref.command)
        if not typed_settings.is_typed(ref) and len(visible(shown)) > MOST_CHARS // 2:
            raise UsageError(
                "command-too-long",
                "this plan runs a command that is too long to be shown ({count:,} characters): "
                "if you trust it, type it again after --",
                count=len(shown),
            )
        if not (is_allowed or typed_settings.is_typed(ref)):
            raise UsageError(
                "command-not-allowed",
                "this plan runs a command, as the client {client}: {command}",
                hint=f"if you trust it, add {ALLOW}",
                client=ref,
                command=shown,
            )
        say(f"{ref} runs: {shown}")


def option(clients: Iterable[ClientRef]) -> str:
    """Return the option that a command line needs to run such a plan again."""
    return f" {ALLOW}" if any(ref.command for ref in clients) else ""


def _is_registered(name: str) -> bool:
    return name in registry.names("clients")
