"""E2E-LIV: progress. This id exists beside those of the producer because the check ``stuck`` names it."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must

LIVENESS = Group(
    "E2E-LIV",
    "Liveness",
    (
        must(
            "E2E-LIV-01",
            "Once the faults have ended, a client with pending records makes progress within its own largest timeout.",
            "KIP-91, KafkaProducer, KafkaConsumer",
            "clients/reference/producer/sender.py: Sender",
        ),
    ),
)
