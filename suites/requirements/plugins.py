"""PRD-ISP: interceptors, serializers and partitioners, and the parts of a record."""

from __future__ import annotations

from suites.requirements.behaviour import REFERENCE, Group, must, should

PLUGINS = Group(
    "PRD-ISP",
    "Interceptors, serializers, partitioners",
    (
        should(
            "PRD-ISP-01",
            "Interceptors see a record in their configured order, before it is serialized or waits for anything. "
            "After one that raises, the next sees the record as the previous one left it.",
            "KIP-42; ProducerInterceptors",
            "clients/reference/producer/interceptors.py: Interceptors.on_send",
            "clients/reference/transport/kafka_producer.py: KafkaProducer.send",
            scope=REFERENCE,
        ),
        should(
            "PRD-ISP-02",
            "Interceptors are notified of every record's end once, before the record's own callback, always with "
            "metadata, and also for a record that never entered a batch.",
            "KafkaProducer, ProducerInterceptors",
            "clients/reference/producer/interceptors.py: Acknowledgement",
            "clients/reference/producer/interceptors.py: Interceptors.on_send_error",
            scope=REFERENCE,
        ),
        should(
            "PRD-ISP-03",
            "Plug-ins are configured before their first use and closed with the producer. If one fails during setup, "
            "the producer fails and closes those before it.",
            "AbstractConfig, KafkaProducer",
            "clients/reference/config/plugins.py: Plugins",
            "clients/reference/producer/producer_plugins.py: ProducerPlugins",
            scope=REFERENCE,
        ),
        should(
            "PRD-ISP-04",
            "The key is serialized, then the value. If serialization fails, send() raises and no memory is taken.",
            "KafkaProducer",
            "clients/reference/producer/producer_plugins.py: ProducerPlugins.serialize",
            "clients/reference/producer/serializers.py: TypedSerializer",
        ),
        should(
            "PRD-ISP-05",
            "Plug-ins that need the cluster's id get it after the interceptors have seen the first record and before "
            "it is serialized.",
            "KIP-78; ClusterResourceListeners",
            "clients/reference/producer/producer_plugins.py: ProducerPlugins.cluster_updated",
            "clients/reference/metadata/metadata.py: Metadata.update",
            scope=REFERENCE,
        ),
        should(
            "PRD-ISP-06",
            "A record goes to its own partition if it names one, else where the configured partitioner says, else by "
            "the murmur2 hash of its key (an empty key is a key), else to the sticky partition.",
            "KafkaProducer, BuiltInPartitioner",
            "clients/reference/producer/producer.py: ProducerCore._append",
            "clients/reference/transport/plugged_sends.py: PluggedSends",
            "clients/reference/producer/partitioner.py: partition_for_key",
            "clients/reference/producer/partitioner.py: murmur2",
        ),
        should(
            "PRD-ISP-07",
            "Records without a key stay on a partition for about batch.size bytes. The next one is drawn with less "
            "weight for long queues and none for brokers that have been unavailable for long.",
            "KIP-480, KIP-794; BuiltInPartitioner",
            "clients/reference/producer/partitioner.py: Partitioner",
            "clients/reference/producer/record_accumulator.py: RecordAccumulator.load_of",
            "clients/reference/network/node_latency.py: NodeLatencies",
        ),
        must(
            "PRD-ISP-08",
            "Absent and empty are different for key, value and header value. Headers keep their order, and may repeat.",
            "DefaultRecord, ProducerRecord",
            "harness/wire/records/encoding.py: write_record",
            "harness/wire/records/decoding.py: read_records",
            "clients/reference/producer/serializers.py: TypedSerializer.serialize",
        ),
        should(
            "PRD-ISP-09",
            "A record without a timestamp gets the client's time. Negative timestamps and partitions are refused. "
            "With LogAppendTime the broker's time is returned.",
            "ProducerRecord, RecordMetadata",
            "clients/reference/producer/record_size.py: size_of_record",
            "clients/reference/producer/producer_batch.py: ProducerBatch.metadata_of",
            "clients/reference/transport/kafka_producer.py: KafkaProducer.send",
        ),
    ),
)
