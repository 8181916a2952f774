"""Components: the classes of a producer's parts."""

from __future__ import annotations

from dataclasses import dataclass

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.metadata.metadata import Metadata
from clients.reference.network.channel import Channel
from clients.reference.network.metadata_updater import MetadataUpdater
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.blocked_sends import BlockedSends
from clients.reference.producer.partitioner import Partitioner
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.reference.producer.sender import Sender
from clients.reference.producer.transaction_manager import TransactionManager
from clients.reference.producer.transactions.transactional_manager import TransactionalManager


@dataclass(frozen=True)
class Components:
    """The classes of a producer's parts. A variant of the client replaces one.

    ``config``, ``plugins`` and ``channel`` are used by the code that creates a producer, for its settings and
    connections.
    """

    config: type[ProducerConfig] = ProducerConfig
    metadata: type[Metadata] = Metadata
    network_client: type[NetworkClient] = NetworkClient
    metadata_updater: type[MetadataUpdater] = MetadataUpdater
    partitioner: type[Partitioner] = Partitioner
    transaction_manager: type[TransactionManager] = TransactionManager
    transactional_manager: type[TransactionalManager] = TransactionalManager
    batch: type[ProducerBatch] = ProducerBatch
    accumulator: type[RecordAccumulator] = RecordAccumulator
    sender: type[Sender] = Sender
    blocked_sends: type[BlockedSends] = BlockedSends
    channel: type[Channel] = Channel
    plugins: type[ProducerPlugins] = ProducerPlugins
