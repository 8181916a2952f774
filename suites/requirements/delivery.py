"""E2E-DEL: what arrives. These ids come on top of those of the producer, for the checks of delivery name them."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must

DELIVERY = Group(
    "E2E-DEL",
    "Delivery semantics",
    (
        must(
            "E2E-DEL-01",
            "At least once: a record acknowledged under acks=all is in the log after the faults have gone.",
            "KIP-679",
            "clients/reference/producer/producer.py: ProducerCore",
        ),
        must(
            "E2E-DEL-02",
            "Idempotent: an acknowledged record is in the log once, and a partition has them in the order of sending.",
            "KIP-98",
            "clients/reference/producer/transaction_manager.py: TransactionManager",
            "clients/reference/producer/sequences.py: PartitionSequences",
        ),
        must(
            "E2E-DEL-03",
            "Not idempotent: a second copy comes from an answer that was lost or late, another order from more than "
            "one request in flight.",
            "KafkaProducer",
            "clients/reference/producer/sender.py: Sender",
        ),
        must(
            "E2E-DEL-04",
            "A consumer that commits what it has processed skips no acknowledged record, whatever crashes.",
            "KafkaConsumer",
            not_yet="there is no consumer yet",
        ),
        must(
            "E2E-DEL-05",
            "Read, process, write in transactions, or with offsets kept beside the results: one output for one input.",
            "KIP-98, KIP-447",
            not_yet="there are no transactions and no consumer yet",
        ),
        must(
            "E2E-DEL-06",
            "A producer writes to the topics that its records name, and to no other.",
            "ProducerRecord",
            "clients/reference/producer/sender.py: Sender._send_produce_request",
        ),
    ),
)
