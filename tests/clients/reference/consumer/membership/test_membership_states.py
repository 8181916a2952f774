"""Table 1.4 c, written a second time from MemberState: what each state may become."""

from __future__ import annotations

from clients.reference.consumer.membership.membership_states import (
    MEMBERSHIP,
    MembershipEvent,
    MembershipState,
)

IN_GROUP = ("JOINING", "STABLE", "RECONCILING", "ACKNOWLEDGING")
ALLOWED = {
    ("UNSUBSCRIBED", "join"): "JOINING",
    ("FENCED", "join"): "JOINING",
    ("STALE", "join"): "JOINING",
    ("JOINING", "reached"): "STABLE",
    ("RECONCILING", "reached"): "STABLE",
    ("ACKNOWLEDGING", "reached"): "STABLE",
    ("RECONCILING", "reconciled"): "ACKNOWLEDGING",
    ("PREPARE_LEAVING", "released"): "LEAVING",
    ("PREPARE_LEAVING", "fenced"): "UNSUBSCRIBED",
    ("LEAVING", "left"): "UNSUBSCRIBED",
    ("LEAVING", "expired"): "STALE",
    ("FENCED", "left"): "UNSUBSCRIBED",
    **{(state, "target"): "RECONCILING" for state in IN_GROUP},
    **{(state, "fenced"): "FENCED" for state in IN_GROUP},
    **{(state, "leave"): "PREPARE_LEAVING" for state in IN_GROUP},
    **{(state, "fatal"): "FATAL" for state in (*IN_GROUP, "PREPARE_LEAVING", "LEAVING", "UNSUBSCRIBED")},
}


def test_the_machine_has_exactly_the_transitions_of_the_table():
    for state in MembershipState:
        for event in MembershipEvent:
            assert MEMBERSHIP.allows(state, event) == ((state.told, event.told) in ALLOWED)
            if MEMBERSHIP.allows(state, event):
                assert MEMBERSHIP.after(state, event).told == ALLOWED[state.told, event.told]


def test_nothing_leads_out_of_a_failed_membership():
    assert not any(MEMBERSHIP.allows(MembershipState.FATAL, event) for event in MembershipEvent)
