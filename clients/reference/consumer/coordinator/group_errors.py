"""Which exception an error code of the group's APIs becomes."""

from __future__ import annotations

from clients.reference.consumer.errors import (
    ConsumerError,
    CoordinatorNotAvailableError,
    FencedInstanceIdError,
    GroupAuthorizationError,
    GroupMaxSizeReachedError,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    MemberIdRequiredError,
    OffsetMetadataTooLargeError,
    RebalanceInProgressError,
    ResponseError,
    UnknownMemberIdError,
)
from harness.wire.apis import Api, api_name
from harness.wire.error_table import KafkaError

_OWN_CLASS: dict[str, type[ConsumerError]] = {
    "COORDINATOR_NOT_AVAILABLE": CoordinatorNotAvailableError,
    "FENCED_INSTANCE_ID": FencedInstanceIdError,
    "GROUP_AUTHORIZATION_FAILED": GroupAuthorizationError,
    "GROUP_MAX_SIZE_REACHED": GroupMaxSizeReachedError,
    "ILLEGAL_GENERATION": IllegalGenerationError,
    "INCONSISTENT_GROUP_PROTOCOL": InconsistentGroupProtocolError,
    "MEMBER_ID_REQUIRED": MemberIdRequiredError,
    "OFFSET_METADATA_TOO_LARGE": OffsetMetadataTooLargeError,
    "REBALANCE_IN_PROGRESS": RebalanceInProgressError,
    "UNKNOWN_MEMBER_ID": UnknownMemberIdError,
}
_TEMPLATE = "group {group!r}: {api} was answered with {error}"


def group_error(error: KafkaError, api: Api, group: str) -> ConsumerError:
    """Return the exception for an error that Java passes on as it is."""
    own = _OWN_CLASS.get(error.name)
    if own is None:
        return ResponseError(
            error, "group-request-failed", _TEMPLATE, group=group, api=api_name(api), error=error.name
        )
    return own("group-request-failed", _TEMPLATE, group=group, api=api_name(api), error=error.name)


def unexpected_error(error: KafkaError, api: Api, group: str) -> ConsumerError:
    """Return the exception for an error that an API should not have. The call is not repeated."""
    return ConsumerError(
        "group-error-unexpected", _TEMPLATE, group=group, api=api_name(api), error=error.name
    )
