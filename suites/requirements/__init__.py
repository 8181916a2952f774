"""The behaviours of Kafka clients that this project judges. They form one table, with one module per group.

Properties and checks name the ids that they judge. This table names the places in the reference client.
docs/reference/requirements is generated from both, so that what is claimed, built and checked cannot drift apart.
"""

from __future__ import annotations

from suites.requirements.accumulator import ACCUMULATOR
from suites.requirements.batches import EXPIRY, FINAL_STATE, SPLIT
from suites.requirements.behaviour import Behaviour, Group
from suites.requirements.closing import CLOSING
from suites.requirements.configuration import CONFIGURATION
from suites.requirements.connections import CONNECTIONS
from suites.requirements.consuming import API, AUTO_COMMIT, COMMIT, FETCH, WAKEUP
from suites.requirements.delivery import DELIVERY
from suites.requirements.groups import CLASSIC_GROUP, NETWORK_CLIENT, NEXT_GROUP
from suites.requirements.idempotence import IDEMPOTENCE
from suites.requirements.in_flight import IN_FLIGHT, REQUEST_TIMEOUT
from suites.requirements.liveness import LIVENESS
from suites.requirements.metadata import METADATA
from suites.requirements.plugins import PLUGINS
from suites.requirements.sender import SENDER
from suites.requirements.transactions import TRANSACTIONS

__all__ = ["CLIENT_GROUPS", "CONSUMER_GROUPS", "GROUPS", "Behaviour", "Group", "behaviours"]

#: The 155 behaviours of networking, metadata, producer and configuration.
CLIENT_GROUPS = (
    CONNECTIONS,
    IN_FLIGHT,
    REQUEST_TIMEOUT,
    METADATA,
    PLUGINS,
    ACCUMULATOR,
    SENDER,
    SPLIT,
    EXPIRY,
    FINAL_STATE,
    IDEMPOTENCE,
    TRANSACTIONS,
    CLOSING,
    CONFIGURATION,
)

#: The 60 behaviours of consumers.
CONSUMER_GROUPS = (API, NETWORK_CLIENT, CLASSIC_GROUP, NEXT_GROUP, COMMIT, AUTO_COMMIT, FETCH, WAKEUP)

GROUPS = (*CLIENT_GROUPS, *CONSUMER_GROUPS, DELIVERY, LIVENESS)


def behaviours() -> dict[str, Behaviour]:
    """Return every behaviour by its id."""
    return {behaviour.id: behaviour for group in GROUPS for behaviour in group.behaviours}
