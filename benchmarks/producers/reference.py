"""The reference client under load."""

from __future__ import annotations

from typing import Any

from load import Load, Results, measure

from clients.reference import KafkaProducer


def main() -> None:
    load, results = Load.from_argv(), Results()
    producer = KafkaProducer(
        {
            "bootstrap.servers": load.bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": load.linger_ms,
            "batch.size": load.batch_bytes,
            "buffer.memory": load.buffer_bytes,
            "compression.type": load.codec,
        }
    )

    def delivered(metadata: Any, error: Any) -> None:
        if error is None:
            results.stored += 1
        else:
            results.failed += 1

    def send_all(values: list[bytes], count: int) -> None:
        topic, send, distinct = load.topic, producer.send, len(values)
        for number in range(count):
            send(topic, values[number % distinct], callback=delivered)
        producer.flush()

    def buffer_peak() -> float:
        return next(value for name, value in producer.metrics().items() if name.name == "buffer-peak-bytes")

    measure(load, results, send_all, buffer_peak_bytes=buffer_peak)
    producer.close()


if __name__ == "__main__":
    main()
