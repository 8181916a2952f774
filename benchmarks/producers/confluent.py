"""confluent-kafka (librdkafka) under load."""

from __future__ import annotations

from typing import Any

import confluent_kafka  # type: ignore[import-not-found]
from load import Load, Results, measure


def main() -> None:
    load, results = Load.from_argv(), Results()
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": load.bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": load.linger_ms,
            "batch.size": load.batch_bytes,
            "queue.buffering.max.kbytes": load.buffer_bytes // 1024,
            "compression.type": load.codec,
        }
    )

    def delivered(error: Any, _: Any) -> None:
        if error is None:
            results.stored += 1
        else:
            results.failed += 1

    def send_all(values: list[bytes], count: int) -> None:
        topic, produce, poll, distinct = load.topic, producer.produce, producer.poll, len(values)
        for number in range(count):
            while True:
                try:
                    produce(topic, values[number % distinct], on_delivery=delivered)
                    break
                except BufferError:
                    poll(0.05)
            if number % 1_000 == 0:
                poll(0)
        producer.flush()

    measure(load, results, send_all)


if __name__ == "__main__":
    main()
