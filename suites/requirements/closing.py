"""PRD-CLS: flush and close."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must, should

CLOSING = Group(
    "PRD-CLS",
    "Flush and close",
    (
        must(
            "PRD-CLS-01",
            "flush() ends all lingering, and returns once whatever was sent until then has ended.",
            "KafkaProducer, RecordAccumulator",
            "clients/reference/transport/kafka_producer.py: KafkaProducer.flush",
            "clients/reference/producer/producer.py: ProducerCore.begin_flush",
            "clients/reference/producer/batch_drain.py: BatchDrain.begin_flush",
        ),
        should(
            "PRD-CLS-02",
            "flush() in a callback is refused, for it would wait for itself.",
            "KafkaProducer",
            "clients/reference/transport/kafka_producer.py: KafkaProducer.flush",
        ),
        must(
            "PRD-CLS-03",
            "close() takes no new record, sends what there is, waits for the answers, and then disconnects.",
            "KafkaProducer, Sender",
            "clients/reference/transport/kafka_producer.py: KafkaProducer.close",
            "clients/reference/producer/producer.py: ProducerCore.close",
            "clients/reference/states.py: LIFE",
        ),
        should(
            "PRD-CLS-04",
            "close() with a limit returns by it; what has not ended by then fails, callbacks included.",
            "KafkaProducer, Sender",
            "clients/reference/producer/producer.py: ProducerCore.close",
            "clients/reference/producer/sender.py: Sender.abort_all",
            "clients/reference/producer/batch_errors.py: closed",
        ),
        should(
            "PRD-CLS-05",
            "close() may be called again; send() after it is an illegal state.",
            "KafkaProducer",
            "clients/reference/states.py: LIFE",
            "clients/reference/producer/producer.py: ProducerCore.send",
        ),
        should(
            "PRD-CLS-06",
            "close() aborts a transaction that is open.",
            "Sender",
            "clients/reference/producer/sender.py: Sender.abort_undrained",
            not_yet="there are no transactions yet",
        ),
        should(
            "PRD-CLS-07",
            "close() ends the waiting of sends that are blocked for metadata or memory.",
            "ProducerMetadata, BufferPool",
            "clients/reference/producer/producer.py: ProducerCore.close",
            "clients/reference/producer/blocked_sends.py: BlockedSends.give_up",
        ),
    ),
)
