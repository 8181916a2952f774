"""The examples at the end of each command's ``--help``."""

from __future__ import annotations

HEAD = "Examples:"


def examples(*lines: str) -> str:
    """Return the epilog of a command's help page: each line is a command line that the parser accepts."""
    return "\n\n".join((HEAD, *lines))


def lines_of(epilog: str | None) -> list[str]:
    """Return the command lines of an epilog that :func:`examples` made."""
    head, *lines = (epilog or "").split("\n\n")
    return lines if head == HEAD else []
