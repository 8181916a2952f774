"""What the scripted brokers do otherwise than real ones, from the tables that the comparison goes by."""

from __future__ import annotations

from pages.markdown import NOTE, table
from testkit.fidelity.differences import KNOWN, NOT_PLAYED

_ABOUT = """\
The same seeded plans of requests and faults are played on real brokers and on the scripted ones, and what they answer
and what is in their logs at the end is compared, value by value:

    .venv/bin/python -m testkit.fidelity --plans 200
    .venv/bin/python -m testkit.fidelity --plans 40 --nodes 3
    .venv/bin/python -m testkit.fidelity --plans 100 --version 3.9.2 --json

A difference that is not in the first table fails the comparison.
"""


def pages() -> dict[str, str]:
    """File below ``docs/reference/`` -> its text."""
    parts = ["# Fidelity of the scripted brokers\n", NOTE, _ABOUT]
    parts += ["## Differences that the comparison meets\n"]
    parts += [
        table(("difference", "in", "at", "reason"), ((k.name, k.api, f"`{k.path}`", k.reason) for k in KNOWN))
    ]
    parts += ["## What no plan plays\n", table(("what", "why"), NOT_PLAYED)]
    return {"fidelity.md": "\n".join(parts)}
