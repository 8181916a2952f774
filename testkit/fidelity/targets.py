"""The targets of requests in place of a node id."""

from __future__ import annotations

from typing import Final

#: The leader of the first partition in the request, or another node.
LEADER, NOT_LEADER = -1, -2
#: The coordinator of the group in the request, or another node.
COORDINATOR, NOT_COORDINATOR = -3, -4
#: The maximum wait of a Fetch from which on the plan continues while it waits.
LONG_WAIT_MS: Final = 300_000
