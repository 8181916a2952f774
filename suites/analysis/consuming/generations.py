"""The generations of a classic group in which each member took part, by its JoinGroup and SyncGroup. Pure views.

A generation of a member begins with the answer to a JoinGroup and ends with its next JoinGroup or LeaveGroup.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.evidence import Evidence, view
from suites.analysis.consuming.asked import Asked, of_group

JOIN, SYNC, LEAVE = "JoinGroup", "SyncGroup", "LeaveGroup"
COOPERATIVE: Final = "cooperative-sticky"
EAGER: Final = ("range", "roundrobin", "sticky")


class Generation(NamedTuple):
    """One generation of one member. ``later`` are its requests from then on, until it joins again or leaves.

    That last request is one of them.
    """

    joined: Asked
    later: tuple[Asked, ...]

    @property
    def process(self) -> str:
        """The member's process."""
        return self.joined.process

    @property
    def member_id(self) -> str:
        """The member's id."""
        return self.joined.told.member_id or ""

    @property
    def number(self) -> int:
        """The generation."""
        number = self.joined.told.epoch
        return -1 if number is None else number

    @property
    def leads(self) -> bool:
        """True if the member is the leader, which assigns."""
        return bool(self.member_id) and self.joined.told.leader == self.member_id

    @property
    def protocol(self) -> str:
        """The assignor."""
        return self.joined.told.protocol or ""

    @property
    def is_cooperative(self) -> bool:
        """True if the member is certainly cooperative. One that offers an eager assignor too may be eager."""
        return self.protocol == COOPERATIVE and self.joined.member.protocols == (COOPERATIVE,)

    @property
    def began_ns(self) -> int:
        """When the coordinator answered."""
        return self.joined.answer.t_ns if self.joined.answer is not None else 0

    @property
    def ended_by(self) -> Asked | None:
        """The request by which the member left the generation, or None if it stayed."""
        last = self.later[-1] if self.later else None
        return last if last is not None and last.api in (JOIN, LEAVE) else None

    @property
    def synced(self) -> tuple[Asked, ...]:
        """The SyncGroup requests of this generation. More than one if the answer was lost."""
        return tuple(each for each in self.later if each.api == SYNC and self.names(each))

    def names(self, request: Asked) -> bool:
        """Return whether a request names the member and the generation."""
        return (request.member.member_id, request.member.epoch) == (self.member_id, self.number)


@view
def generations(evidence: Evidence) -> dict[str, list[Generation]]:
    """Return process -> its generations, in the order of their beginning."""
    return {process: _of(requests) for process, requests in of_group(evidence).items()}


def _of(requests: list[Asked]) -> list[Generation]:
    found = []
    for each in requests:
        if each.api == JOIN and each.code == 0 and each.answer is not None:
            found.append(Generation(each, tuple(_until_it_ends(requests, each.answer.t_ns))))
    return found


def _until_it_ends(requests: list[Asked], since_ns: int) -> Iterator[Asked]:
    for each in requests:
        if each.request.arrived_ns > since_ns:
            yield each
            if each.api in (JOIN, LEAVE):
                return
