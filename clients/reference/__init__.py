"""The reference client: the Java client's design in Python, as a sans-IO core and a transport on sockets.

    from kafka_trial.reference import KafkaConsumer, KafkaProducer

    with KafkaProducer({"bootstrap.servers": "127.0.0.1:9092"}) as producer:
        future = producer.send("topic", b"value", key=b"key")
        print(future.result(timeout_s=30).offset)

    with KafkaConsumer({"bootstrap.servers": "127.0.0.1:9092", "group.id": "readers"}) as consumer:
        consumer.subscribe(["topic"])
        for record in consumer.poll(timeout_s=1):
            print(record.value)

The names below are all that an application needs. Each one is loaded on first use, so importing the core does not
import sockets or threads.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clients.reference.common.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
    from clients.reference.consumer.consumer_record import ConsumerRecord, ConsumerRecords
    from clients.reference.consumer.coordinator.rebalance_listener import ConsumerRebalanceListener
    from clients.reference.consumer.errors import ConsumerError
    from clients.reference.errors import ProducerFencedError, SendError, TransactionError
    from clients.reference.producer.interceptors import ProducerInterceptor, ProducerRecord
    from clients.reference.producer.producer_batch import RecordMetadata
    from clients.reference.producer.serializers import Serializer
    from clients.reference.telemetry.metrics import MetricName
    from clients.reference.transport.kafka_consumer import KafkaConsumer
    from clients.reference.transport.kafka_producer import KafkaProducer
    from clients.reference.transport.record_future import RecordFuture

__all__ = [
    "ConsumerError",
    "ConsumerGroupMetadata",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerRecords",
    "KafkaConsumer",
    "KafkaProducer",
    "MetricName",
    "OffsetAndMetadata",
    "ProducerFencedError",
    "ProducerInterceptor",
    "ProducerRecord",
    "RecordFuture",
    "RecordMetadata",
    "SendError",
    "Serializer",
    "TransactionError",
]

_WHERE = {
    "ConsumerError": "consumer.errors",
    "ConsumerRebalanceListener": "consumer.coordinator.rebalance_listener",
    "ConsumerRecord": "consumer.consumer_record",
    "ConsumerRecords": "consumer.consumer_record",
    "KafkaConsumer": "transport.kafka_consumer",
    "ConsumerGroupMetadata": "common.group_offsets",
    "OffsetAndMetadata": "common.group_offsets",
    "ProducerFencedError": "errors",
    "TransactionError": "errors",
    "KafkaProducer": "transport.kafka_producer",
    "MetricName": "telemetry.metrics",
    "ProducerInterceptor": "producer.interceptors",
    "ProducerRecord": "producer.interceptors",
    "RecordFuture": "transport.record_future",
    "RecordMetadata": "producer.producer_batch",
    "SendError": "errors",
    "Serializer": "producer.serializers",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
