"""Fills a topic before it is read."""

from __future__ import annotations

from benchmarks.common.values import values
from clients.reference import KafkaProducer

BATCH_BYTES, LINGER_MS = 65_536, 5


def fill(bootstrap: str, topic: str, records: int, size_bytes: int, codec: str) -> None:
    """Write records to a topic and wait until they are stored. Raise the error of one that is not."""
    settings = {
        "bootstrap.servers": bootstrap,
        "linger.ms": LINGER_MS,
        "batch.size": BATCH_BYTES,
        "compression.type": codec,
    }
    errors: list[Exception] = []

    def done(metadata: object, error: Exception | None) -> None:
        if error is not None:
            errors.append(error)

    contents = values(size_bytes)
    with KafkaProducer(settings) as producer:
        for number in range(records):
            producer.send(topic, contents[number % len(contents)], callback=done)
        producer.flush()
    if errors:
        raise errors[0]
