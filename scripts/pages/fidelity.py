"""The differences between scripted and real brokers, from the tables that the comparison uses."""

from __future__ import annotations

from typing import Final

from pages.markdown import NOTE, table
from testkit.fidelity.differences import KNOWN, NOT_PLAYED

_ABOUT = """\
The same seeded plans of requests and faults are played on real brokers and on the scripted ones. Their responses, and
their logs at the end, are compared value by value:

    .venv/bin/python -m testkit.fidelity --plans 200
    .venv/bin/python -m testkit.fidelity --plans 40 --nodes 3
    .venv/bin/python -m testkit.fidelity --plans 100 --version 3.9.2 --json
    .venv/bin/python -m testkit.fidelity --kind reading --plans 300
    .venv/bin/python -m testkit.fidelity --kind classic --plans 300
    .venv/bin/python -m testkit.fidelity --kind consumer --plans 300
    .venv/bin/python -m testkit.fidelity --kind transactions --plans 300
    .venv/bin/python -m testkit.fidelity --kind transactions --plans 100 --transaction-version 1

There are five kinds of plans: requests of a producer, requests that read logs (fetch sessions, offsets, leader epochs,
transactions), members of classic groups, members of groups of KIP-848, and transactional producers with zombies among
them. The last three also commit offsets. A request that waits, such as a JoinGroup, is compared with the step that ends
its wait.

A difference that is not in the first table fails the comparison.
"""

#: What was measured last: (kind, version and nodes, first seed, plans, steps, differences without a reason).
_MEASURED: Final = (
    ("reading", "4.3.1 x 1", "4000", "60", "2428", "0"),
    ("reading", "4.3.1 x 3", "6000", "6", "244", "0"),
    ("classic", "4.3.1 x 1", "4000", "60", "3031", "0"),
    ("consumer", "4.3.1 x 1", "4000", "60", "3028", "0"),
    ("transactions", "4.3.1 x 1", "5012", "9", "468", "0"),
    ("transactions", "4.3.1 x 1, transaction.version 1", "11000", "6", "322", "0"),
    ("transactions", "3.9.2 x 1", "8000", "6", "313", "0"),
)


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    parts = ["# Fidelity of the scripted brokers\n", NOTE, _ABOUT]
    header = ("kind", "brokers", "first seed", "plans", "steps", "differences")
    parts += ["## Measured for consumers and transactions\n", table(header, _MEASURED)]
    parts += ["## Known differences\n"]
    parts += [
        table(("difference", "in", "at", "reason"), ((k.name, k.api, f"`{k.path}`", k.reason) for k in KNOWN))
    ]
    parts += ["## Not compared\n", table(("what", "why"), NOT_PLAYED)]
    return {"fidelity.md": "\n".join(parts)}
