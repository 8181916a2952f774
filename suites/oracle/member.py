"""The membership of a consumer in a classic group, from AbstractCoordinator.MemberState and the methods that set it."""

from __future__ import annotations

from suites.oracle.machine import MachineOracle, Move

_JOIN = "AbstractCoordinator#initiateJoinGroup, if no join is in progress"
_RESET = "AbstractCoordinator#resetStateAndGeneration, #resetStateAndRejoin set UNJOINED in any state"

MEMBER = MachineOracle(
    name="member",
    about=(
        "One machine per consumer with a subscription. Heartbeats are due in COMPLETING_REBALANCE and STABLE. Whether "
        "the coordinator is known is independent of the state."
    ),
    initial="UNJOINED",
    requirement="CSM-GRP-02",
    moves=(
        Move("UNJOINED", "join", "PREPARING_REBALANCE", _JOIN),
        Move("STABLE", "join", "PREPARING_REBALANCE", f"{_JOIN}; #ensureActiveGroup on a rejoin; CSM-GRP-06"),
        Move(
            "COMPLETING_REBALANCE",
            "join",
            "PREPARING_REBALANCE",
            "SyncGroupResponseHandler#handle on REBALANCE_IN_PROGRESS keeps the generation, and "
            "AbstractCoordinator#joinGroupIfNeeded joins again",
        ),
        Move(
            "PREPARING_REBALANCE",
            "join",
            "PREPARING_REBALANCE",
            "JoinGroupResponseHandler#handle on MEMBER_ID_REQUIRED; KIP-394, CSM-GRP-02",
        ),
        Move(
            "PREPARING_REBALANCE",
            "joined",
            "COMPLETING_REBALANCE",
            "JoinGroupResponseHandler#handle without an error; in another state it fails with UnjoinedGroupException",
        ),
        Move(
            "COMPLETING_REBALANCE",
            "synced",
            "STABLE",
            "SyncGroupResponseHandler#handle without an error, if the generation is still the same",
        ),
        Move("UNJOINED", "reset", "UNJOINED", f"{_RESET}; #maybeLeaveGroup"),
        Move("PREPARING_REBALANCE", "reset", "UNJOINED", f"{_RESET}; #joinGroupIfNeeded after a failed join"),
        Move("COMPLETING_REBALANCE", "reset", "UNJOINED", f"{_RESET}; SyncGroupResponseHandler#handle"),
        Move(
            "STABLE",
            "reset",
            "UNJOINED",
            f"{_RESET}; HeartbeatResponseHandler#handle, and #maybeLeaveGroup when the poll timeout expired; "
            "CSM-GRP-07, CSM-GRP-09",
        ),
    ),
)
