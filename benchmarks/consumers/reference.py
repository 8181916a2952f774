"""The reference client reads a topic."""

from __future__ import annotations

from load import POLL_S, Load, Measured

from clients.reference import KafkaConsumer


def main() -> None:
    load = Load.from_argv()
    consumer = KafkaConsumer(
        {
            "bootstrap.servers": load.bootstrap,
            "enable.auto.commit": False,
            "check.crcs": True,
            "fetch.max.bytes": load.fetch_max_bytes,
            "max.partition.fetch.bytes": load.partition_max_bytes,
            "max.poll.records": load.max_poll_records,
        }
    )
    partitions = [(load.topic, number) for number in range(load.partitions)]
    records = value_bytes = 0
    with Measured() as measured:
        consumer.assign(partitions)
        for partition in partitions:
            consumer.seek(partition, 0)
        while records < load.records:
            for record in consumer.poll(POLL_S):
                records += 1
                value_bytes += len(record.value)
        measured.took(records, value_bytes)
    consumer.close()


if __name__ == "__main__":
    main()
