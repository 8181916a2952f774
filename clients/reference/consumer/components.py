"""The parts of a consumer, and how they are put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Clock
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.consumer_plugins import ConsumerPlugins
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.group_member import GroupMember
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.reference.consumer.offsets.offset_fetcher import OffsetFetcher
from clients.reference.consumer.offsets.position_validator import PositionValidator
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.consumer.topic_metadata_fetcher import TopicMetadataFetcher
from clients.reference.network.channel import Channel
from clients.reference.network.metadata_updater import MetadataUpdater
from clients.reference.network.network_client import NetworkClient
from clients.reference.ports import Jitter, Selector
from clients.reference.telemetry.trace import Trace


@dataclass(frozen=True)
class Components:
    """The classes of a consumer's parts. A variant of the client replaces one.

    ``config``, ``plugins`` and ``channel`` are used by the code that creates a consumer, for its settings and
    connections.
    """

    config: type[ConsumerConfig] = ConsumerConfig
    plugins: type[ConsumerPlugins] = ConsumerPlugins
    channel: type[Channel] = Channel
    subscriptions: type[SubscriptionState] = SubscriptionState
    metadata: type[ConsumerMetadata] = ConsumerMetadata
    network_client: type[NetworkClient] = NetworkClient
    metadata_updater: type[MetadataUpdater] = MetadataUpdater
    consumer_network_client: type[ConsumerNetworkClient] = ConsumerNetworkClient
    coordinator: type[ConsumerCoordinator] = ConsumerCoordinator
    membership: type[MembershipManager] = MembershipManager
    fetcher: type[Fetcher] = Fetcher
    offset_fetcher: type[OffsetFetcher] = OffsetFetcher
    position_validator: type[PositionValidator] = PositionValidator
    topic_metadata_fetcher: type[TopicMetadataFetcher] = TopicMetadataFetcher


class Parts:
    """One consumer's parts. ``coordinator`` is its membership by group.protocol, None without a group.id."""

    def __init__(
        self,
        config: ConsumerConfig,
        selector: Selector,
        plugins: ConsumerPlugins,
        clock: Clock,
        wall_ms: Callable[[], int],
        jitter: Jitter,
        trace: Trace,
        made: Components,
    ) -> None:
        self.subscriptions = made.subscriptions(config.auto_offset_reset, clock, trace)
        self.metadata = made.metadata(config, self.subscriptions, jitter, trace)
        client = made.network_client(config, selector, self.metadata, jitter, trace)
        updater = made.metadata_updater(config, client, self.metadata)
        self.network = made.consumer_network_client(config, client, self.metadata, updater)
        shared = (config, self.network, self.metadata, self.subscriptions)
        self.fetcher = made.fetcher(*shared, plugins.deserializers, clock, trace)
        self.offsets = made.offset_fetcher(*shared, clock, wall_ms, trace)
        self.validator = made.position_validator(*shared, clock, trace)
        self.topics = made.topic_metadata_fetcher(config, self.network, clock, jitter)
        self.coordinator = self._coordinator(config, plugins, clock, jitter, trace, made)

    def _coordinator(
        self,
        config: ConsumerConfig,
        plugins: ConsumerPlugins,
        clock: Clock,
        jitter: Jitter,
        trace: Trace,
        made: Components,
    ) -> GroupMember | None:
        if config.group_id is None:
            return None
        place = (config, config.group_id, self.network, self.metadata, self.subscriptions)
        on_commit = plugins.interceptors.on_commit if plugins.interceptors else None
        if config.group_protocol == "consumer":
            return made.membership(*place, clock, jitter, trace, on_commit)
        return made.coordinator(*place, plugins.assignors, clock, jitter, trace, on_commit)
