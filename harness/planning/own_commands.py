"""Clients that are a command of the user: the names they may have, and why a file alone cannot start them.

A plan in a file is data. The clients that it names are registered ones; a command is a program that the file's author
chose. It runs only after its arguments were shown, and with the user's permission. It runs in the folder where it was
typed, so that a path in it means the same program. In the same way a file alone passes no environment variables to
clients: the user names them again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath

from msgspec.structs import replace

from harness.model.errors import UsageError
from harness.model.spec import OWN, ClientRef, Plan
from harness.planning import typed_settings
from harness.plugins import registry
from harness.text.commands import ALLOW, permissions
from harness.text.escaping import MOST_CHARS, is_text, visible


def client(command: Sequence[str], name: str | None = None) -> ClientRef:
    """Return the client for a command. Its name is ``name``, or the program's name if no registered client has that."""
    stored, folder = typed_settings.stored_command(command), _here()
    if name is not None:
        ref = ClientRef(name, OWN, stored, folder)
        check([ref])
        return ref
    program = PurePath(command[0]).name
    return ClientRef(f"own-{program}" if _is_registered(program) else program, OWN, stored, folder)


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


def with_env(plan: Plan, env: Sequence[str]) -> Plan:
    """Return the plan whose clients get these environment variables besides the usual ones."""
    trials = (replace(spec, client=replace(spec.client, env=tuple(env))) for spec in plan.trials)
    return replace(plan, trials=tuple(trials))


def allow(
    clients: Iterable[ClientRef], is_allowed: bool, say: Callable[[str], None], env: Sequence[str] = ()
) -> None:
    """Print the commands that a plan from a file will run. Raise UsageError for the first one if they are not allowed.

    A command that the user has typed again needs no further permission. ``env`` has the environment variables that the
    user passes to clients; raise UsageError if the plan needs more.
    """
    refs = list(dict.fromkeys(clients))
    check(refs)
    for ref in refs:
        if lacking := [name for name in ref.env if name not in env]:
            raise UsageError(
                "client-env-not-given",
                "in this plan {client} gets {lacking} from the environment",
                hint=f"pass it on with{permissions(is_command=False, env=lacking)}",
                client=ref,
                lacking=tuple(lacking),
            )
        if not ref.command:
            continue
        typed_settings.command(ref)  # Raises UsageError if secrets are missing.
        shown = shlex.join(ref.command)
        if not typed_settings.is_typed(ref) and len(visible(shown)) > MOST_CHARS // 2:
            raise UsageError(
                "command-too-long",
                "this plan runs a command that is too long to be shown ({count:character}): "
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
        if ref.folder and not Path(ref.folder).is_dir():
            raise UsageError(
                "command-folder-missing",
                "the command of {client} was run in {folder}, and there is no such folder",
                client=ref,
                folder=ref.folder,
            )
        say(f"{ref} runs: {shown}{f' in {ref.folder}' if ref.folder not in ('', _here()) else ''}")


def option(clients: Iterable[ClientRef]) -> str:
    """Return the options that a command line needs to run such a plan again."""
    refs = list(clients)
    return permissions(
        any(ref.command for ref in refs), dict.fromkeys(name for ref in refs for name in ref.env)
    )


def _here() -> str:
    """Return the current folder; empty if it was removed or if its name cannot be stored."""
    try:
        here = str(Path.cwd())
    except OSError:
        return ""
    return here if is_text(here) else ""


def _is_registered(name: str) -> bool:
    return name in registry.names("clients")
