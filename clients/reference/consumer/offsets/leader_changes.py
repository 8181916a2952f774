"""What a change of leader means for a position (CSM-FET-07, KIP-320)."""

from __future__ import annotations

from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.metadata.topic_metadata import TopicPartition
from harness.wire.apis import Api

#: The first version that a client without permissions on the cluster may use. Older ones count as no support.
VALIDATION_LOWEST = 3


def validate_position(
    partition: TopicPartition,
    client: ConsumerNetworkClient,
    metadata: ConsumerMetadata,
    subscriptions: SubscriptionState,
) -> None:
    """Require a validation of the position if the partition has another leader now, which supports it."""
    leader = metadata.leader_and_epoch(partition)
    can_validate = None
    if leader.node_id is not None:
        can_validate = client.supports(leader.node_id, Api.OFFSET_FOR_LEADER_EPOCH, VALIDATION_LOWEST)
    subscriptions.maybe_validate_position(partition, leader, can_validate)
