"""The child processes of this process, for tests. A child may end while they are listed."""

from __future__ import annotations

from contextlib import suppress

import psutil


def children(word: str) -> list[psutil.Process]:
    """Return the children with ``word`` in their command line. One that has ended has no command line."""
    return [child for child in psutil.Process().children() if word in " ".join(_command(child))]


def _command(child: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):  # ZombieProcess is one of its kind
        return list(child.cmdline())
    return []
