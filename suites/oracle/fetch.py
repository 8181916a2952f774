"""The position of an assigned partition, from SubscriptionState.FetchStates#validTransitions."""

from __future__ import annotations

from suites.oracle.machine import MachineOracle, Move

_RESET = "SubscriptionState#requestOffsetReset: TopicPartitionState#reset"
_KNOWN = "SubscriptionState#seekValidated: TopicPartitionState#seekValidated"
_CHECK = (
    "SubscriptionState#maybeValidatePositionForCurrentLeader: TopicPartitionState#validatePosition; KIP-320"
)

FETCH = MachineOracle(
    name="fetch",
    about=(
        "One machine per assigned partition. A move that is not listed is refused without an error, because several "
        "causes may want different things of one partition at once."
    ),
    initial="INITIALIZING",
    requirement="CSM-FET-03",
    moves=(
        Move("INITIALIZING", "position", "FETCHING", _KNOWN),
        Move("INITIALIZING", "validate", "AWAIT_VALIDATION", _CHECK),
        Move("INITIALIZING", "reset", "AWAIT_RESET", f"{_RESET}; #resetInitializingPositions"),
        Move("FETCHING", "position", "FETCHING", f"{_KNOWN}; #seekUnvalidated"),
        Move("FETCHING", "validate", "AWAIT_VALIDATION", _CHECK),
        Move("FETCHING", "reset", "AWAIT_RESET", f"{_RESET}, after OFFSET_OUT_OF_RANGE or a seek to an end"),
        Move(
            "AWAIT_RESET",
            "position",
            "FETCHING",
            "SubscriptionState#maybeSeekUnvalidated: TopicPartitionState#seekUnvalidated",
        ),
        Move("AWAIT_RESET", "reset", "AWAIT_RESET", f"{_RESET}, with another strategy"),
        Move(
            "AWAIT_VALIDATION",
            "position",
            "FETCHING",
            "SubscriptionState#maybeCompleteValidation: TopicPartitionState#completeValidation",
        ),
        Move("AWAIT_VALIDATION", "validate", "AWAIT_VALIDATION", f"{_CHECK}, after another change of leader"),
        Move("AWAIT_VALIDATION", "reset", "AWAIT_RESET", f"{_RESET}; #maybeCompleteValidation on truncation"),
    ),
)
