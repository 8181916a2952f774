"""Check that a node is ready: on each listener, it responds in Kafka's protocol as the expected cluster member.

An open port proves little: a broker opens its ports before it can lead anything, and the process that listens may
belong to someone else. Metadata must therefore contain this cluster's id, every node that is up, and for each of them
exactly the address that this listener is to advertise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kio.schema.metadata.v12 import MetadataResponse

from harness.brokers.admin import metadata_request
from harness.brokers.connection import BrokerConnection, NotYet
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
    """Request ApiVersions and Metadata from ``listener``. ``told`` are the expected nodes and their addresses.

    ``dialled`` counts the harness's own source port before it connects. Raises NotYet if there is no response or a node
    is missing, and KafkaTrialError for another cluster or a wrong address.
    """
    connection = BrokerConnection(listener, dialled, credentials)
    try:
        answer = await connection.request(metadata_request(None), MetadataResponse)
    finally:
        connection.close()
    where = f"{listener[0]}:{listener[1]}"
    if answer.cluster_id != cluster_id:
        raise KafkaTrialError(
            "foreign-cluster",
            "{where} belongs to the cluster {cluster_id!r}, which is not ours",
            where=where,
            cluster_id=answer.cluster_id,
        )
    named = {int(broker.node_id): (broker.host, int(broker.port)) for broker in answer.brokers}
    if missing := sorted(told.keys() - named.keys()):
        raise NotYet(
            "broker-not-named",
            "{where} does not name broker {missing} yet",
            where=where,
            missing=tuple(missing),
        )
    for node_id, address in told.items():
        if named[node_id] != address:
            raise KafkaTrialError(
                "wrong-advertised-address",
                "{where} advertises broker {node_id} at {found}, not at {address}",
                where=where,
                node_id=node_id,
                found=named[node_id],
                address=address,
            )
