"""The membership of a consumer in a group of KIP-848, from MemberState#previousValidStates and its users."""

from __future__ import annotations

from suites.oracle.machine import LeftOut, MachineOracle, Move

_IN_GROUP = ("JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE")
_MANAGER = "AbstractMembershipManager"
_FATAL = f"{_MANAGER}#transitionToFatal; CSM-NGP-09"
_LEAVE = (
    f"{_MANAGER}#leaveGroup, ConsumerMembershipManager#transitionToSendingLeaveGroup; CSM-NGP-01, CSM-NGP-07"
)
_FENCED = f"{_MANAGER}#transitionToFenced on FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID; CSM-NGP-05"
_TARGET = f"{_MANAGER}#processAssignmentReceived: another target; CSM-NGP-04"
_REACHED = f"{_MANAGER}#processAssignmentReceived, #onHeartbeatRequestGenerated: the target is acknowledged"

MEMBERSHIP = MachineOracle(
    name="membership",
    about=(
        "One machine per consumer of a group of KIP-848. The coordinator decides what the member should have. The "
        "member reconciles, acknowledges, and is stable. FATAL has no way out."
    ),
    initial="UNSUBSCRIBED",
    requirement="CSM-NGP-04",
    special={
        (state, event): "CSM-NGP-05"
        for state in ("FENCED", "STALE", "FATAL")
        for event in ("target", "reached", "reconciled")
    },
    moves=(
        Move(
            "UNSUBSCRIBED",
            "join",
            "JOINING",
            f"{_MANAGER}#transitionToJoining, at the poll after a subscription",
        ),
        Move(
            "FENCED",
            "join",
            "JOINING",
            f"{_MANAGER}#transitionToFenced, once onPartitionsLost has run; CSM-NGP-05",
        ),
        Move("STALE", "join", "JOINING", f"{_MANAGER}#maybeRejoinStaleMember, at the next poll; CSM-NGP-07"),
        Move("JOINING", "reached", "STABLE", f"{_REACHED}: an empty target is reached at once"),
        Move("RECONCILING", "reached", "STABLE", _REACHED),
        Move("ACKNOWLEDGING", "reached", "STABLE", _REACHED),
        *(Move(state, "target", "RECONCILING", _TARGET) for state in _IN_GROUP),
        Move(
            "RECONCILING", "reconciled", "ACKNOWLEDGING", f"{_MANAGER}#maybeReconcile: the callbacks have run"
        ),
        *(Move(state, "fenced", "FENCED", _FENCED) for state in _IN_GROUP),
        *(Move(state, "leave", "PREPARE_LEAVING", _LEAVE) for state in _IN_GROUP),
        Move("PREPARE_LEAVING", "released", "LEAVING", f"{_MANAGER}#transitionToSendingLeaveGroup"),
        Move(
            "LEAVING",
            "left",
            "UNSUBSCRIBED",
            f"{_MANAGER}#onHeartbeatRequestGenerated: the last one is on its way",
        ),
        Move(
            "LEAVING",
            "expired",
            "STALE",
            f"{_MANAGER}#transitionToStale, if the poll timer expired; CSM-NGP-07",
        ),
        Move(
            "PREPARE_LEAVING",
            "fenced",
            "UNSUBSCRIBED",
            f"{_MANAGER}#transitionToFenced while the member leaves: it does not join again",
        ),
        Move("FENCED", "left", "UNSUBSCRIBED", f"{_MANAGER}#leaveGroup of a member that is not in the group"),
        *(
            Move(state, "fatal", "FATAL", _FATAL)
            for state in (*_IN_GROUP, "PREPARE_LEAVING", "LEAVING", "UNSUBSCRIBED")
        ),
    ),
    left_out=(
        LeftOut(
            "LEAVING",
            "fenced",
            "FENCED",
            "MemberState: FENCED.previousValidStates",
            "The member is LEAVING only while it sends its last heartbeat, so no answer can come in that state.",
        ),
        LeftOut(
            "UNSUBSCRIBED",
            "leave",
            "PREPARE_LEAVING",
            "MemberState: PREPARE_LEAVING.previousValidStates",
            "A consumer that is no member has nothing to leave.",
        ),
    ),
)
