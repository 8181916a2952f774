"""kafka-python reads a topic."""

from __future__ import annotations

from kafka import KafkaConsumer, TopicPartition  # type: ignore[import-not-found]
from load import POLL_S, Load, Measured


def main() -> None:
    load = Load.from_argv()
    consumer = KafkaConsumer(
        bootstrap_servers=load.bootstrap,
        group_id=None,
        enable_auto_commit=False,
        check_crcs=True,
        fetch_max_bytes=load.fetch_max_bytes,
        max_partition_fetch_bytes=load.partition_max_bytes,
        max_poll_records=load.max_poll_records,
    )
    partitions = [TopicPartition(load.topic, number) for number in range(load.partitions)]
    records = value_bytes = 0
    with Measured() as measured:
        consumer.assign(partitions)
        for partition in partitions:
            consumer.seek(partition, 0)
        while records < load.records:
            for batch in consumer.poll(timeout_ms=int(POLL_S * 1000)).values():
                for record in batch:
                    records += 1
                    value_bytes += len(record.value)
        measured.took(records, value_bytes)
    consumer.close()


if __name__ == "__main__":
    main()
