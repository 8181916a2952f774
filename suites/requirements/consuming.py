"""CSM: what a consumer is given, and what it commits."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must

FETCH = Group(
    "CSM-FET",
    "Fetch, seek, pause, isolation, reset",
    (
        must(
            "CSM-FET-02",
            "The owner of a partition is given its records in the order of their offsets, with neither a gap nor a "
            "repetition, whatever happens to connections and leaders.",
            "CompletedFetch",
            "clients/reference/consumer/subscription/subscription_state.py: SubscriptionState",
        ),
    ),
)

COMMIT = Group(
    "CSM-OFC",
    "Offset commit and fetch",
    (
        must(
            "CSM-OFC-06",
            "A commit holds the offset of the next record to read. Its metadata and leader epoch come back with it.",
            "OffsetAndMetadata",
            "clients/reference/consumer/subscription/subscription_state.py: SubscriptionState.all_consumed",
        ),
    ),
)
