"""What is drawn and listed of a group: its members, who owned what, and how far it was in each partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from harness.model.evidence import Evidence
from reports.pages.drawing import TimeAxis
from reports.pages.group.members import Member, members
from reports.pages.group.offsets import Partition, partitions
from reports.pages.group.ownership import Owned, owned

MAX_MEMBERS = 24
MAX_PARTITIONS = 24
MAX_OWNERSHIPS = 2_000
#: The colours of places in the group: white text is readable on each. Then the patterns of the processes that have a
#: place one after the other.
COLOURS = ("#0072b2", "#007a5a", "#a8487f", "#9a6200", "#6a51a3", "#2b6f86", "#8c4a2f", "#5b6470")
PATTERNS = ("", "/", "x", ".")


@dataclass(frozen=True)
class Story:
    """What is drawn of a group, with what is left out."""

    axis: TimeAxis
    members: dict[str, Member]
    ownerships: list[Owned]
    partitions: list[Partition]
    #: What the group's protocol calls a generation.
    generation: str

    @cached_property
    def rows(self) -> list[Member]:
        """The processes that are shown."""
        return list(self.members.values())[:MAX_MEMBERS]

    @cached_property
    def shown(self) -> list[Partition]:
        """The partitions that are shown."""
        return self.partitions[:MAX_PARTITIONS]

    def colour(self, process: str) -> tuple[str, str]:
        """Return colour and pattern of a process: those of its place, and of its turn in it."""
        member = self.members.get(process)
        if member is None:
            return COLOURS[-1], ""
        return COLOURS[member.place % len(COLOURS)], PATTERNS[member.turn % len(PATTERNS)]

    @classmethod
    def of(cls, evidence: Evidence) -> Story:
        """Return the story of a trial whose clients consume."""
        axis = TimeAxis.of(evidence)
        end_ns = axis.origin_ns + round(axis.end_ms * 1e6)
        is_new = evidence.record.spec.config.get("group.protocol") == "consumer"
        return cls(
            axis,
            members(evidence, end_ns),
            owned(evidence, end_ns),
            partitions(evidence),
            "epoch" if is_new else "generation",
        )
