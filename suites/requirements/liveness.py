"""E2E-LIV: progress. This id comes on top of those of the producer, for the check ``stuck`` names it."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must

LIVENESS = Group(
    "E2E-LIV",
    "Liveness",
    (
        must(
            "E2E-LIV-01",
            "Once the faults have gone, a client with records pending makes progress within its own largest timeout.",
            "KIP-91, KafkaProducer",
            "clients/reference/producer/sender.py: Sender",
        ),
    ),
)
