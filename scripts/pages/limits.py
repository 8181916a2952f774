"""What a client may take of the harness, and what it sees of its environment: two tables."""

from __future__ import annotations

from harness.adapter.environment import ALLOWED
from harness.limits.meter import LIMITS, Limit
from pages.markdown import NOTE, table

ABOUT = """\
A client is a program that somebody else wrote. It runs with the rights of whoever runs `kafka-trial`, and nothing
here is a sandbox: run programs that you do not trust in a container. What it says and leaves is bounded, so that it
cannot end a run, fill its folder, or take its memory.

A client that goes beyond a limit has broken the contract: its trial ends as a harness-error that names the limit, and
the other trials go on. A text that is too long is cut instead, and says how much is missing.
"""

KEPT = """\
Every client has a keeper: a process that ends all that descends from it, by whatever way it has forked, when the
client ends or the harness does.
"""

SEEN = """\
A client process sees these variables of the environment of `kafka-trial`, and what its adapter sets. `--client-env
NAME` adds one.
"""


def pages() -> dict[str, str]:
    """``limits.md``."""
    limits = table(("limit", "at most", "and for each record of the load"), map(_row, LIMITS))
    seen = table(("variable", "what for"), [(f"`{name}`", what) for name, what in ALLOWED.items()])
    parts = ("# Limits of a client", NOTE, ABOUT, limits, KEPT, "## Its environment", SEEN, seen)
    return {"limits.md": "\n\n".join(part.strip() for part in parts) + "\n"}


def _row(limit: Limit) -> tuple[str, str, str]:
    return limit.name, f"{limit.base:,} {limit.what}", f"{limit.a_record:,}" if limit.a_record else ""
