"""The state machine of a member of a group of KIP-848, as data (MemberState of the consumer in Java).

The broker decides what a member should have. The member comes to that target on its own: it reconciles, acknowledges,
and is stable. A member that was fenced, or whose application did not poll, first tells the application what it has
lost, and then joins again.
"""

from __future__ import annotations

from clients.reference.states import Machine, Named


class MembershipState(Named):
    """States of MEMBERSHIP, one machine per consumer."""

    UNSUBSCRIBED = "UNSUBSCRIBED"
    JOINING = "JOINING"
    RECONCILING = "RECONCILING"
    ACKNOWLEDGING = "ACKNOWLEDGING"
    STABLE = "STABLE"
    FENCED = "FENCED"
    STALE = "STALE"
    PREPARE_LEAVING = "PREPARE_LEAVING"
    LEAVING = "LEAVING"
    FATAL = "FATAL"

    @property
    def is_in_group(self) -> bool:
        """Whether the member sends heartbeats to stay in the group or to join it."""
        return self in _IN_GROUP

    @property
    def heartbeats_at_once(self) -> bool:
        """Whether the next heartbeat does not wait for the interval (CSM-NGP-02)."""
        return self in (MembershipState.JOINING, MembershipState.ACKNOWLEDGING)


class MembershipEvent(Named):
    """The events of MEMBERSHIP.

    TARGET: the coordinator wants the member to have something else. REACHED: the member has what it should have, and
    the coordinator knows it. RECONCILED: the callbacks are done. RELEASED: everything is given up before leaving.
    LEFT, EXPIRED: the last heartbeat is on its way, by the application's wish or because it did not poll.
    """

    JOIN = "join"
    TARGET = "target"
    RECONCILED = "reconciled"
    REACHED = "reached"
    FENCED = "fenced"
    LEAVE = "leave"
    RELEASED = "released"
    LEFT = "left"
    EXPIRED = "expired"
    FATAL = "fatal"


_S, _E = MembershipState, MembershipEvent
_IN_GROUP = (_S.JOINING, _S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE)

MEMBERSHIP: Machine[MembershipState, MembershipEvent] = Machine(
    "membership",
    _S.UNSUBSCRIBED,
    {
        (_S.UNSUBSCRIBED, _E.JOIN): _S.JOINING,
        (_S.FENCED, _E.JOIN): _S.JOINING,
        (_S.STALE, _E.JOIN): _S.JOINING,
        (_S.JOINING, _E.REACHED): _S.STABLE,
        (_S.RECONCILING, _E.REACHED): _S.STABLE,
        (_S.ACKNOWLEDGING, _E.REACHED): _S.STABLE,
        **{(state, _E.TARGET): _S.RECONCILING for state in _IN_GROUP},
        (_S.RECONCILING, _E.RECONCILED): _S.ACKNOWLEDGING,
        **{(state, _E.FENCED): _S.FENCED for state in _IN_GROUP},
        **{(state, _E.LEAVE): _S.PREPARE_LEAVING for state in _IN_GROUP},
        (_S.PREPARE_LEAVING, _E.RELEASED): _S.LEAVING,
        (_S.LEAVING, _E.LEFT): _S.UNSUBSCRIBED,
        (_S.LEAVING, _E.EXPIRED): _S.STALE,
        (_S.PREPARE_LEAVING, _E.FENCED): _S.UNSUBSCRIBED,
        (_S.FENCED, _E.LEFT): _S.UNSUBSCRIBED,
        **{
            (state, _E.FATAL): _S.FATAL
            for state in (*_IN_GROUP, _S.PREPARE_LEAVING, _S.LEAVING, _S.UNSUBSCRIBED)
        },
    },
)
