"""A classic group at its coordinator, from ClassicGroupState#validPreviousStates and GroupMetadataManager."""

from __future__ import annotations

from suites.oracle.machine import MachineOracle, Move

_MANAGER = "GroupMetadataManager"
_REBALANCE = f"{_MANAGER}#prepareRebalance: a member joins, leaves, expires, or joins with other metadata"
_REMOVED = f"{_MANAGER}#onUnloaded, #deleteGroup; ClassicGroup#transitionTo"

CLASSIC_GROUP = MachineOracle(
    name="classic-group",
    about=(
        "One machine per classic group, at the broker that coordinates it. The scripted brokers are judged by it: a "
        "property compares each of their moves. Dead has no way out."
    ),
    initial="Empty",
    requirement="CSM-GRP-14",
    final=frozenset({"Dead"}),
    moves=(
        Move("Empty", "rebalance", "PreparingRebalance", _REBALANCE),
        Move("Stable", "rebalance", "PreparingRebalance", _REBALANCE),
        Move("CompletingRebalance", "rebalance", "PreparingRebalance", _REBALANCE),
        Move(
            "PreparingRebalance",
            "joined",
            "CompletingRebalance",
            f"{_MANAGER}#completeClassicGroupJoin: ClassicGroup#initNextGeneration",
        ),
        Move(
            "PreparingRebalance",
            "emptied",
            "Empty",
            f"{_MANAGER}#completeClassicGroupJoin: ClassicGroup#initNextGeneration without members",
        ),
        Move(
            "CompletingRebalance",
            "assigned",
            "Stable",
            f"{_MANAGER}#classicGroupSync: the leader's assignment",
        ),
        *(
            Move(state, "removed", "Dead", _REMOVED)
            for state in ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
        ),
    ),
)
