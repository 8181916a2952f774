"""Which generation of its group a member belongs to, and under which id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

NO_GENERATION_ID = -1
UNKNOWN_MEMBER_ID = ""


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


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """What a producer needs to know to commit a consumer's offsets in a transaction."""

    group_id: str
    generation_id: int = NO_GENERATION_ID
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
