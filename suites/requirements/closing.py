"""PRD-CLS: flush and close."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must, should

CLOSING = Group(
    "PRD-CLS",
    "Flush and close",
    (
        must(
            "PRD-CLS-01",
            "flush() ends all lingering, and returns once every record sent so far has a result.",
            "KafkaProducer, RecordAccumulator",
            "clients/reference/transport/kafka_producer.py: KafkaProducer.flush",
            "clients/reference/producer/producer.py: ProducerCore.begin_flush",
            "clients/reference/producer/batch_drain.py: BatchDrain.begin_flush",
        ),
        should(
            "PRD-CLS-02",
            "flush() in a callback is refused, because it would wait for itself.",
            "KafkaProducer",
            "clients/reference/transport/kafka_producer.py: KafkaProducer.flush",
        ),
        must(
            "PRD-CLS-03",
            "close() takes no new record, sends all remaining records, waits for the answers, and then disconnects.",
            "KafkaProducer, Sender",
            "clients/reference/transport/kafka_producer.py: KafkaProducer.close",
            "clients/reference/producer/producer.py: ProducerCore.close",
            "clients/reference/states.py: LIFE",
        ),
        should(
            "PRD-CLS-04",
            "close() with a timeout returns within it. Records that have not ended by then fail, and their callbacks "
            "run.",
            "KafkaProducer, Sender",
            "clients/reference/producer/producer.py: ProducerCore.close",
            "clients/reference/producer/sender.py: Sender.abort_all",
            "clients/reference/producer/batch_errors.py: closed",
        ),
        should(
            "PRD-CLS-05",
            "close() may be called again. send() after it is an illegal state.",
            "KafkaProducer",
            "clients/reference/states.py: LIFE",
            "clients/reference/producer/producer.py: ProducerCore.send",
        ),
        should(
            "PRD-CLS-06",
            "close() aborts an open transaction.",
            "Sender",
            "clients/reference/producer/transactions/transactional_calls.py: TransactionalCalls.abort_to_close",
        ),
        should(
            "PRD-CLS-07",
            "close() ends the wait of sends that are blocked on metadata or memory.",
            "ProducerMetadata, BufferPool",
            "clients/reference/producer/producer.py: ProducerCore.close",
            "clients/reference/producer/blocked_sends.py: BlockedSends.give_up",
        ),
    ),
)
