"""kafka-python under load."""

from __future__ import annotations

from typing import Any

from kafka import KafkaProducer  # type: ignore[import-not-found]
from load import Load, Results, measure


def main() -> None:
    load, results = Load.from_argv(), Results()
    producer = KafkaProducer(
        bootstrap_servers=load.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=load.linger_ms,
        batch_size=load.batch_bytes,
        compression_type=None if load.codec == "none" else load.codec,
    )

    def stored(_: Any) -> None:
        results.stored += 1

    def failed(_: Any) -> None:
        results.failed += 1

    def send_all(values: list[bytes], count: int) -> None:
        topic, send, distinct = load.topic, producer.send, len(values)
        for number in range(count):
            send(topic, values[number % distinct]).add_callback(stored).add_errback(failed)
        producer.flush()

    measure(load, results, send_all)
    producer.close()


if __name__ == "__main__":
    main()
