"""What each error code of a response means for the transaction: a table by API, from TransactionManager's handlers.

A response with several partitions has several errors. The one that leaves the fewest choices decides, so that the order
of partitions in a response does not matter (in Java, the first one decides).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from harness.wire.apis import Api
from harness.wire.error_table import KafkaError


class Reaction(IntEnum):
    """What follows from an error code. A higher one leaves fewer choices, and takes precedence."""

    RETRY = 1
    """Send the request again, after retry.backoff.ms."""
    LOOK_UP = 2
    """Find the coordinator, then send the request again (PRD-TXN-10)."""
    ABORTABLE = 3
    """The transaction must be aborted. The producer can go on (PRD-TXN-09)."""
    RECOVER = 4
    """The same, if the producer can get a new epoch. Otherwise the error is fatal (KIP-360)."""
    REFUSED = 5
    """The producer may not have a producer id. The call may be repeated (KAFKA-13668)."""
    FATAL = 6
    """Only close() is left (PRD-TXN-19)."""
    FENCED = 7
    """The same, because another producer has taken over (PRD-TXN-08)."""


_R = Reaction
_EVERYWHERE: Mapping[str, Reaction] = {
    "NOT_COORDINATOR": _R.LOOK_UP,
    "COORDINATOR_NOT_AVAILABLE": _R.LOOK_UP,
    "PRODUCER_FENCED": _R.FENCED,
    "INVALID_PRODUCER_EPOCH": _R.FENCED,
    "TRANSACTION_ABORTABLE": _R.ABORTABLE,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _R.FATAL,
}
_BY_API: Mapping[Api, Mapping[str, Reaction]] = {
    Api.FIND_COORDINATOR: {
        "NOT_COORDINATOR": _R.RETRY,
        "COORDINATOR_NOT_AVAILABLE": _R.RETRY,
        "GROUP_AUTHORIZATION_FAILED": _R.ABORTABLE,
        # Only a coordinator can say these two, so a lookup that is answered with them has failed for good.
        "PRODUCER_FENCED": _R.FATAL,
        "INVALID_PRODUCER_EPOCH": _R.FATAL,
    },
    Api.INIT_PRODUCER_ID: {
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _R.REFUSED,
        "CLUSTER_AUTHORIZATION_FAILED": _R.REFUSED,
    },
    Api.ADD_PARTITIONS_TO_TXN: {
        "UNKNOWN_PRODUCER_ID": _R.RECOVER,
        "INVALID_TXN_STATE": _R.FATAL,
        "INVALID_PRODUCER_ID_MAPPING": _R.FATAL,
    },
    Api.ADD_OFFSETS_TO_TXN: {
        "UNKNOWN_PRODUCER_ID": _R.RECOVER,
        "GROUP_AUTHORIZATION_FAILED": _R.ABORTABLE,
    },
    Api.TXN_OFFSET_COMMIT: {
        "REQUEST_TIMED_OUT": _R.LOOK_UP,
        "GROUP_AUTHORIZATION_FAILED": _R.ABORTABLE,
        "FENCED_INSTANCE_ID": _R.ABORTABLE,
        "UNKNOWN_MEMBER_ID": _R.ABORTABLE,
        "ILLEGAL_GENERATION": _R.ABORTABLE,
    },
    Api.END_TXN: {"UNKNOWN_PRODUCER_ID": _R.RECOVER},
}
#: What any other error means, if it is not retriable. A partition that could not be added for another reason is no
#: reason to give up the producer.
_OTHERWISE: Mapping[Api, Reaction] = {Api.ADD_PARTITIONS_TO_TXN: _R.ABORTABLE}

#: The errors of a batch after which no transaction is possible (TransactionManager#maybeTransitionToErrorState).
FATAL_FOR_BATCHES = frozenset(
    {
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "PRODUCER_FENCED",
        "UNSUPPORTED_VERSION",
        "INVALID_PRODUCER_ID_MAPPING",
    }
)


def reaction_to(api: Api, error: KafkaError) -> Reaction:
    """Return what an error code in a response to ``api`` means for the transaction."""
    known = _BY_API[api].get(error.name) or _EVERYWHERE.get(error.name)
    if known is not None:
        return known
    return _R.RETRY if error.retriable else _OTHERWISE.get(api, _R.FATAL)
