"""A replica that lacks records becomes the leader: what only the old leader had is gone.

## What it does
When the fault begins, one broker falls out of sync, and the harness writes records that only the partitions' leader
stores. Members may read them. When the fault ends, the leader dies, and the replica without these records leads
(``unclean.leader.election.enable``). The load goes on at their offsets. What the load has to write meanwhile waits, so
no record of it is lost.

## What it probes
Whether a member whose position is beyond the new leader's log, or that has read another record there, notices it
(KIP-320). It asks OffsetForLeaderEpoch, or learns from a Fetch answer that the log diverges. Then it goes back to where
the logs part, or reports it.

## How it is made
In live mode one broker leads all partitions of the topic and another follows alone. The follower is stopped, then the
leader is killed and the follower started. In simulated mode the scripted brokers do the same with each partition that
another broker leads.

## Where it is seen
Members were given records that the log does not have at their offsets afterwards.

## What it cannot do
It needs three brokers, so that the controllers keep their majority. The records that it loses are not of the load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from faults import listener
from faults.broker_fault import BrokerFault, partitions
from harness.brokers.connection import NotYet
from harness.brokers.deadline import insist
from harness.model.evidence import Evidence
from harness.model.harness_events import AsideWritten
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam, LiveLane, toxic_name
from harness.simulated.lane import SimulatedLane
from harness.simulated.store import at_once
from harness.workloads.consume import accounting

RECORDS: Final = FaultParam("records", 10, 1, 100, "the records of each partition that are lost")
#: An election waits until the controller takes the old leader for dead: its session lasts nine seconds.
ELECTED_S: Final = 60.0
SETTINGS: Final = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


def pair(lane: LiveLane) -> tuple[int, int]:
    """Return the node that leads at first, and the one that follows it."""
    first, second, *_ = lane.cluster.node_ids
    return first, second


class UncleanElection(BrokerFault):
    """The fault kind ``unclean_election``."""

    name = "unclean_election"
    summary = "a replica that lacks records becomes the leader"
    seen_by = ("client", "witness", "broker")
    params: tuple[FaultParam, ...] = (RECORDS,)
    lingers_s = 0.0
    starts_nodes = True
    begins_slowly = True
    loses_records = True
    shown_by = "records were delivered that the log does not have at their offsets any more"

    async def prepare(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Give each partition two replicas, of which the same node leads."""
        alterations = lane.cluster.alterations
        for name, value in SETTINGS.items():
            await alterations.alter_topic(lane.topic, name, value)
        for partition in range(lane.partitions):
            await alterations.move_leader(lane.topic, partition, pair(lane)[0], alone_with=pair(lane)[1])

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Stop the follower, and write what it lacks."""
        assert lane.members is not None  # harness/planning/validate_group
        _, follower = pair(lane)
        lane.members.held[toxic_name(spec)] = str(follower)
        await lane.members.hold()
        await lane.cluster.stop(follower)
        await self._listen(spec, lane, follower, is_up=False)
        await lane.members.write_aside(self.values(spec)["records"])

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Kill the leader, start the follower, and wait until it leads. Then the old leader follows."""
        if lane.members is None or lane.members.held.pop(toxic_name(spec), None) is None:
            return
        leader, follower = pair(lane)
        await lane.cluster.kill(leader)
        await self._listen(spec, lane, leader, is_up=False)
        if follower not in lane.cluster.up:
            await lane.cluster.restart(follower)
        await self._listen(spec, lane, follower, is_up=True)

        async def led() -> None:
            for partition in range(lane.partitions):
                if await lane.cluster.leader(lane.topic, partition) != follower:
                    raise NotYet("led-by-another-node", "{topic} has another leader", topic=lane.topic)

        await insist(f"electing a leader of {lane.topic!r} that lacks records", ELECTED_S, led)
        await lane.members.release()
        await lane.cluster.restart(leader)
        await self._listen(spec, lane, leader, is_up=True)

    async def _listen(self, spec: FaultSpec, lane: LiveLane, node_id: int, *, is_up: bool) -> None:
        """Refuse connections to a node that is down."""
        for proxy in lane.proxies:
            if proxy.address.broker == node_id:
                await (listener.reopen if is_up else listener.close)(proxy, toxic_name(spec))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Let a follower fall out of sync, and write what it lacks."""
        assert lane.members is not None  # harness/planning/validate_group
        follower = lane.cluster.node_ids[1]
        lane.members.held[toxic_name(spec)] = str(follower)
        at_once(lane.members.hold())
        lane.cluster.alter_config(lane.topic, {"min.insync.replicas": "1"})
        lane.cluster.drop_from_isr(follower)
        at_once(lane.members.write_aside(self.values(spec)["records"]))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Let the follower lead the partitions that it has followed."""
        if lane.members is None or lane.members.held.pop(toxic_name(spec), None) is None:
            return
        follower = lane.cluster.node_ids[1]
        for partition in partitions(lane):
            if lane.cluster.leader(lane.topic, partition)[0] != follower:
                lane.cluster.elect_uncleanly(lane.topic, partition, follower)
        lane.cluster.return_to_isr(follower)
        at_once(lane.members.release())

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the fault itself: it acts on the log, not on frames."""
        return int(row.effective_ns is not None)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``. The records were written while the fault was there."""
        if row.requested_ns is None or row.effective_ns is None:
            return 0
        began_ns, ended_ns = row.requested_ns[0], row.effective_ns[1]
        stored = accounting.contents(evidence)
        lost = {
            place: value
            for event in evidence.history
            if isinstance(event, AsideWritten) and began_ns <= event.mono_ns <= ended_ns
            for place, value in event.records()
            if stored.get(place) != value
        }
        return sum(
            lost.get((each.partition, each.offset)) == each.value for each in accounting.deliveries(evidence)
        )


FAULT: FaultKind = UncleanElection()
