"""The limits of a client and of its frames, and the environment variables that it gets: three tables."""

from __future__ import annotations

from harness.adapter.environment import ALLOWED
from harness.limits.frames import FRAME_LIMITS
from harness.limits.meter import LIMITS, Limit
from pages.markdown import NOTE, table

ABOUT = """\
A client is a program that someone else wrote. It runs with the rights of the user who runs `kafka-trial`, and nothing
here is a sandbox: run programs that you do not trust in a container. Its output and the data that it leaves are
limited, so that it cannot end a run, fill its folder, or exhaust its memory.

A client that exceeds a limit has broken the contract: its trial ends as a harness-error that names the limit, and
the other trials continue. A text that is too long is cut instead, and says how much is missing.
"""

OUTSIDE = """\
What a client stores outside of its own folder does not count, and neither does a file that it has removed and keeps
open. If the disk is full nevertheless, the trial is a harness-error of this machine.
"""

OF_FRAMES = """\
These limits are for single frames, and for what the witness keeps of them. A frame beyond one does not end the trial.
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
    limits = table(
        ("limit", "at most", "and for each record of the load", "and partition"), map(_row, LIMITS)
    )
    frames = table(
        ("limit", "at most", "beyond it"),
        [(each.name, f"{each.most:,} {each.what}", each.beyond) for each in FRAME_LIMITS],
    )
    seen = table(("variable", "what for"), [(f"`{name}`", what) for name, what in ALLOWED.items()])
    parts = (
        "# Limits of a client",
        NOTE,
        ABOUT,
        limits,
        OUTSIDE,
        KEPT,
        "## Its frames",
        OF_FRAMES,
        frames,
        "## Its environment",
        SEEN,
        seen,
    )
    return {"limits.md": "\n\n".join(part.strip() for part in parts) + "\n"}


def _row(limit: Limit) -> tuple[str, ...]:
    return limit.name, f"{limit.base:,} {limit.what}", _more(limit.a_record), _more(limit.a_partition)


def _more(number: int) -> str:
    return f"{number:,}" if number else ""
