"""confluent-kafka (librdkafka) reads a topic."""

from __future__ import annotations

import confluent_kafka  # type: ignore[import-not-found]
from load import POLL_S, Load, Measured


def main() -> None:
    load = Load.from_argv()
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": load.bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "check.crcs": True,
            "fetch.max.bytes": load.fetch_max_bytes,
            "max.partition.fetch.bytes": load.partition_max_bytes,
        }
    )
    partitions = [confluent_kafka.TopicPartition(load.topic, number, 0) for number in range(load.partitions)]
    records = value_bytes = 0
    with Measured() as measured:
        consumer.assign(partitions)
        while records < load.records:
            for message in consumer.consume(load.max_poll_records, POLL_S):
                if message.error():
                    raise SystemExit(str(message.error()))
                records += 1
                value_bytes += len(message.value())
        measured.took(records, value_bytes)
    consumer.close()


if __name__ == "__main__":
    main()
