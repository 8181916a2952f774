"""The state machine of a member of a classic group, as data (AbstractCoordinator.MemberState in Java).

Heartbeats are sent in COMPLETING_REBALANCE and STABLE only. Whether the coordinator is known is independent of the
state. A reset follows every loss of the generation: an error of the coordinator, the poll interval, leaving.
"""

from __future__ import annotations

from clients.reference.states import Machine, Named


class MemberState(Named):
    """States of MEMBER, one machine per consumer with a subscription."""

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"

    @property
    def has_not_joined(self) -> bool:
        """Whether the coordinator may not know the member, so that it sends no heartbeats."""
        return self in (MemberState.UNJOINED, MemberState.PREPARING_REBALANCE)


class MemberEvent(Named):
    """The events of MEMBER: a JoinGroup is sent, JoinGroup and SyncGroup have succeeded, the generation is lost."""

    JOIN = "join"
    JOINED = "joined"
    SYNCED = "synced"
    RESET = "reset"


_S, _E = MemberState, MemberEvent
MEMBER: Machine[MemberState, MemberEvent] = Machine(
    "member",
    _S.UNJOINED,
    {
        (_S.UNJOINED, _E.JOIN): _S.PREPARING_REBALANCE,
        (_S.STABLE, _E.JOIN): _S.PREPARING_REBALANCE,
        (_S.COMPLETING_REBALANCE, _E.JOIN): _S.PREPARING_REBALANCE,
        (_S.PREPARING_REBALANCE, _E.JOIN): _S.PREPARING_REBALANCE,
        (_S.PREPARING_REBALANCE, _E.JOINED): _S.COMPLETING_REBALANCE,
        (_S.COMPLETING_REBALANCE, _E.SYNCED): _S.STABLE,
        (_S.UNJOINED, _E.RESET): _S.UNJOINED,
        (_S.PREPARING_REBALANCE, _E.RESET): _S.UNJOINED,
        (_S.COMPLETING_REBALANCE, _E.RESET): _S.UNJOINED,
        (_S.STABLE, _E.RESET): _S.UNJOINED,
    },
)
