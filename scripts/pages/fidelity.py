"""The differences between scripted and real brokers, from the tables that the comparison uses."""

from __future__ import annotations

from pages.markdown import NOTE, table
from testkit.fidelity.differences import KNOWN, NOT_PLAYED

_ABOUT = """\
The same seeded plans of requests and faults are played on real brokers and on the scripted ones. Their responses, and
their logs at the end, are compared value by value:

    .venv/bin/python -m testkit.fidelity --plans 200
    .venv/bin/python -m testkit.fidelity --plans 40 --nodes 3
    .venv/bin/python -m testkit.fidelity --plans 100 --version 3.9.2 --json

A difference that is not in the first table fails the comparison.
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    parts = ["# Fidelity of the scripted brokers\n", NOTE, _ABOUT]
    parts += ["## Known differences\n"]
    parts += [
        table(("difference", "in", "at", "reason"), ((k.name, k.api, f"`{k.path}`", k.reason) for k in KNOWN))
    ]
    parts += ["## Not compared\n", table(("what", "why"), NOT_PLAYED)]
    return {"fidelity.md": "\n".join(parts)}
