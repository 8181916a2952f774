"""Ready means: asked in Kafka's own protocol, on each listener, a node answers as the member of the cluster it is.

An open port proves little: a broker opens its ports before it can lead anything, and the process behind the port may
be somebody else's. So Metadata must name this cluster, every node that is up, and for each of them the very address
that this listener is there to advertise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kio.schema.metadata.v12 import MetadataResponse

from harness.brokers.admin import metadata_request
from harness.brokers.connection import Connection, NotYet
from harness.brokers.credentials import Credentials
from harness.model.addresses import Address
from harness.model.errors import KafkaTrialError


async def assert_ready(
    listener: Address,
    cluster_id: str,
    told: Mapping[int, Address],
    dialled: Counter[int] | None = None,
    credentials: Credentials | None = None,
) -> None:
    """Ask ``listener`` for ApiVersions and Metadata; ``told`` are the nodes it must name, at these addresses.

    ``dialled`` counts our own port before we connect. NotYet: no answer, or a node is missing. KafkaTrialError: the
    answer of another cluster, or a wrong address.
    """
    connection = Connection(listener, dialled, credentials)
    try:
        answer = await connection.request(metadata_request(None), MetadataResponse)
    finally:
        connection.close()
    where = f"{listener[0]}:{listener[1]}"
    if answer.cluster_id != cluster_id:
        raise KafkaTrialError(f"{where} belongs to the cluster {answer.cluster_id!r}, which is not ours")
    named = {int(broker.node_id): (broker.host, int(broker.port)) for broker in answer.brokers}
    if missing := sorted(told.keys() - named.keys()):
        raise NotYet(f"{where} does not name broker {', '.join(map(str, missing))} yet")
    for node_id, address in told.items():
        if named[node_id] != address:
            raise KafkaTrialError(
                f"{where} advertises broker {node_id} at {named[node_id]}, not at {address}"
            )
