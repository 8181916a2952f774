"""What consumers and producers tell a group's coordinator: offsets to store, and who stores them."""

from __future__ import annotations

from dataclasses import dataclass

from clients.reference.errors import IllegalStateError

NO_GENERATION_ID = -1
UNKNOWN_MEMBER_ID = ""


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """What a commit stores: the offset of the next record, a text, and an epoch (CSM-OFC-06).

    ``leader_epoch`` is that of the record before it. Raise IllegalStateError for a negative offset.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None

    def __post_init__(self) -> None:
        if self.offset < 0:
            raise IllegalStateError(
                "negative-offset", "offset {offset} must not be negative", offset=self.offset
            )


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """What a producer needs to know to commit a consumer's offsets in a transaction (KIP-447).

    A group's name alone is allowed too. The coordinator then cannot refuse a consumer that has left the group.
    """

    group_id: str
    generation_id: int = NO_GENERATION_ID
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
