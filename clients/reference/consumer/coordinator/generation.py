"""Which generation of its group a member belongs to, and under which id."""

from __future__ import annotations

from typing import NamedTuple

from clients.reference.common.group_offsets import (
    NO_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    ConsumerGroupMetadata,
)

__all__ = [
    "NO_GENERATION",
    "NO_GENERATION_ID",
    "UNKNOWN_MEMBER_ID",
    "ConsumerGroupMetadata",
    "Generation",
]


class Generation(NamedTuple):
    """A generation, the member's id in it, and the assignor that the group chose. The defaults mean no member."""

    id: int = NO_GENERATION_ID
    member_id: str = UNKNOWN_MEMBER_ID
    protocol_name: str | None = None

    @property
    def is_reset(self) -> bool:
        """Whether the member has lost its generation. It may have kept its id."""
        return self.id == NO_GENERATION_ID and self.protocol_name is None


NO_GENERATION = Generation()
