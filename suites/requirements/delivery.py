"""E2E-DEL: what is delivered. These ids exist beside those of the producer because the delivery checks name them."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must

DELIVERY = Group(
    "E2E-DEL",
    "Delivery semantics",
    (
        must(
            "E2E-DEL-01",
            "At least once: a record acknowledged under acks=all is in the log after the faults have ended.",
            "KIP-679",
            "clients/reference/producer/producer.py: ProducerCore",
        ),
        must(
            "E2E-DEL-02",
            "Idempotent: an acknowledged record is in the log once, and each partition keeps the order of sending.",
            "KIP-98",
            "clients/reference/producer/transaction_manager.py: TransactionManager",
            "clients/reference/producer/sequences.py: PartitionSequences",
        ),
        must(
            "E2E-DEL-03",
            "Not idempotent: a second copy is caused by a lost or late answer, and a changed order by more than one "
            "request in flight.",
            "KafkaProducer",
            "clients/reference/producer/sender.py: Sender",
        ),
        must(
            "E2E-DEL-04",
            "A consumer that commits what it has processed skips no acknowledged record, whatever crashes.",
            "KafkaConsumer",
            "clients/reference/consumer/subscription/subscription_state.py: SubscriptionState",
        ),
        must(
            "E2E-DEL-05",
            "Read, process, write in transactions, or with offsets stored with the results: one output per input.",
            "KIP-98, KIP-447",
            not_yet="there are no transactions yet",
        ),
        must(
            "E2E-DEL-06",
            "A producer writes to the topics that its records name, and to no other.",
            "ProducerRecord",
            "clients/reference/producer/sender.py: Sender._send_produce_request",
        ),
        must(
            "E2E-DEL-07",
            "At most once: what a consumer committed before it processed it is not delivered again.",
            "KafkaConsumer",
            "clients/reference/consumer/subscription/subscription_state.py: SubscriptionState.all_consumed",
        ),
    ),
)
