"""The limits of a client, and the environment variables that it gets: two tables."""

from __future__ import annotations

from harness.adapter.environment import ALLOWED
from harness.limits.meter import LIMITS, Limit
from pages.markdown import NOTE, table

ABOUT = """\
A client is a program that someone else wrote. It runs with the rights of the user who runs `kafka-trial`, and nothing
here is a sandbox: run programs that you do not trust in a container. Its output and the data that it leaves are
limited, so that it cannot end a run, fill its folder, or exhaust its memory.

A client that exceeds a limit has broken the contract: its trial ends as a harness-error that names the limit, and
the other trials continue. A text that is too long is cut instead, and says how much is missing.
"""

KEPT = """\
Every client has a keeper: a process that ends all descendants of the client, however they have forked, when the client
or the harness ends.
"""

SEEN = """\
A client process gets these variables from the environment of `kafka-trial`, and those that its adapter sets.
`--client-env NAME` adds one.
"""


def pages() -> dict[str, str]:
    """Return the text of ``limits.md``, by that name."""
    limits = table(("limit", "at most", "and for each record of the load"), map(_row, LIMITS))
    seen = table(("variable", "what for"), [(f"`{name}`", what) for name, what in ALLOWED.items()])
    parts = ("# Limits of a client", NOTE, ABOUT, limits, KEPT, "## Its environment", SEEN, seen)
    return {"limits.md": "\n\n".join(part.strip() for part in parts) + "\n"}


def _row(limit: Limit) -> tuple[str, str, str]:
    return limit.name, f"{limit.base:,} {limit.what}", f"{limit.a_record:,}" if limit.a_record else ""
