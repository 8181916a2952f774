"""Command lines of this project as text that a user can paste into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

#: The option that permits the client commands in a stored plan.
ALLOW = "--allow-command"
#: The option that passes an environment variable to clients.
CLIENT_ENV = "--client-env"


def path_word(path: Path | str) -> str:
    """Return a path as one word of a shell, which no command takes for an option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def permissions(is_command: bool, env: Iterable[str] = ()) -> str:
    """Return the options without which a stored plan is not run: for a client's command, and for its environment."""
    words = [ALLOW] if is_command else []
    words += [word for name in env for word in (CLIENT_ENV, shlex.quote(name))]
    return "".join(f" {word}" for word in words)


def replay_command(path: Path, *, is_command: bool = False, env: Iterable[str] = ()) -> str:
    """Return the command that runs a stored trial again. ``path`` is the trial's folder or a file with its spec."""
    return f"kafka-trial replay {path_word(path)}{permissions(is_command, env)}"
