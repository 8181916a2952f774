"""CSM: a consumer's requests, and its membership in a group by either protocol."""

from __future__ import annotations

from typing import Final

from suites.requirements.behaviour import REFERENCE, Group, must, should

_CLIENT: Final = "clients/reference/consumer/consumer_network_client.py: ConsumerNetworkClient"
_FUTURE: Final = "clients/reference/consumer/request_future.py: RequestFuture"

NETWORK_CLIENT = Group(
    "CSM-CNC",
    "ConsumerNetworkClient and RequestFuture",
    (
        should(
            "CSM-CNC-01",
            "send() queues. One round sends, reads, fails what has lost its node, looks for a wakeup, sends again, "
            "expires, and then completes futures.",
            "ConsumerNetworkClient",
            f"{_CLIENT}.poll",
            scope=REFERENCE,
        ),
        should(
            "CSM-CNC-02",
            "A request that could not be sent within request.timeout.ms times out.",
            "ConsumerNetworkClient",
            f"{_CLIENT}.poll",
            scope=REFERENCE,
        ),
        should(
            "CSM-CNC-03",
            "If a node cannot be reached, the requests that wait for it fail with the cause.",
            "ConsumerNetworkClient",
            f"{_CLIENT}.poll",
            scope=REFERENCE,
        ),
        should(
            "CSM-CNC-04",
            "A wait for the network ends by the caller's timer, by the backoff if nothing is under way, or by a "
            "connection's delay.",
            "ConsumerNetworkClient",
            f"{_CLIENT}.next_deadline_ms",
            scope=REFERENCE,
        ),
        should(
            "CSM-CNC-05",
            "A future ends once, with a value or an error. Anything else is a defect of the caller and is raised.",
            "RequestFuture",
            f"{_FUTURE}.complete",
            scope=REFERENCE,
        ),
        should(
            "CSM-CNC-06",
            "Listeners of a future run once each, in their order, and at once if it has ended.",
            "RequestFuture",
            f"{_FUTURE}.add_listener",
            scope=REFERENCE,
        ),
        should(
            "CSM-CNC-07",
            "A wakeup at a time that does not allow it waits for one that does, or is dropped once they are disabled.",
            "ConsumerNetworkClient",
            f"{_CLIENT}.disable_wakeups",
            scope=REFERENCE,
        ),
    ),
)

CLASSIC_GROUP = Group(
    "CSM-GRP",
    "Classic group protocol",
    (
        must(
            "CSM-GRP-01",
            "Any broker is asked for the coordinator, again after a backoff, and anew once it has moved or cannot be "
            "reached.",
            "AbstractCoordinator",
            "clients/reference/consumer/coordinator/coordinator_lookup.py: CoordinatorLookup",
            on_any_client="the coordinator is looked for anew once it has moved",
        ),
        must(
            "CSM-GRP-02",
            "A member without an id joins again with the one that the coordinator gave it.",
            "AbstractCoordinator, KIP-394",
            "clients/reference/consumer/coordinator/rebalance_responses.py: RebalanceResponses",
        ),
        should(
            "CSM-GRP-03",
            "JoinGroup waits as long as a rebalance may take, beyond request.timeout.ms.",
            "AbstractCoordinator",
            "clients/reference/consumer/coordinator/abstract_coordinator.py: AbstractCoordinator",
        ),
        must(
            "CSM-GRP-04",
            "The leader assigns all partitions once, and each member applies what SyncGroup brings it.",
            "ConsumerCoordinator",
            "clients/reference/consumer/assignors/assignor.py: Assignor",
        ),
        should(
            "CSM-GRP-05",
            "Heartbeats go on while the application works, from the join until the member leaves.",
            "AbstractCoordinator, KIP-62",
            "clients/reference/consumer/coordinator/heartbeat.py: Heartbeat",
        ),
        must(
            "CSM-GRP-06",
            "A heartbeat that is answered with a rebalance makes a stable member join again.",
            "AbstractCoordinator",
            "clients/reference/consumer/coordinator/rebalance_responses.py: RebalanceResponses",
        ),
        must(
            "CSM-GRP-07",
            "An unknown member joins without its id, and one of an outdated generation with it. Errors about older "
            "generations do not count.",
            "AbstractCoordinator",
            "clients/reference/consumer/coordinator/rebalance_responses.py: RebalanceResponses",
        ),
        must(
            "CSM-GRP-08",
            "A member whose heartbeats fail for session.timeout.ms looks for its coordinator anew.",
            "Heartbeat",
            "clients/reference/consumer/coordinator/heartbeat.py: Heartbeat",
        ),
        should(
            "CSM-GRP-09",
            "A dynamic member whose application does not poll for max.poll.interval.ms leaves by itself.",
            "AbstractCoordinator, KIP-62",
            "clients/reference/consumer/coordinator/abstract_coordinator.py: AbstractCoordinator",
        ),
        must(
            "CSM-GRP-10",
            "A static member stays in the group when it closes. A second one of its name ends the first.",
            "AbstractCoordinator, KIP-345",
            "clients/reference/consumer/coordinator/abstract_coordinator.py: AbstractCoordinator",
            on_any_client="a static member sends no LeaveGroup when it closes",
        ),
        should(
            "CSM-GRP-11",
            "Eager members give up all partitions before they join again, and cooperative ones only what moves, after "
            "which they join once more. The listener runs on the thread that polls, for every assignment.",
            "ConsumerCoordinator, KIP-429",
            "clients/reference/consumer/coordinator/consumer_coordinator.py: ConsumerCoordinator",
            on_any_client="what is given up, and the second rebalance",
        ),
        should(
            "CSM-GRP-12",
            "Partitions that a member has already lost are reported as lost, and nothing is committed for them.",
            "ConsumerCoordinator",
            "clients/reference/consumer/coordinator/consumer_coordinator.py: ConsumerCoordinator",
        ),
        should(
            "CSM-GRP-13",
            "An exception of the listener comes out of poll(), once the assignment is in effect.",
            "ConsumerCoordinator",
            "clients/reference/consumer/coordinator/consumer_coordinator.py: ConsumerCoordinator",
            on_any_client="the exception comes out of a call",
        ),
        must(
            "CSM-GRP-14",
            "A partition has one owner in a generation, and each has an owner once a rebalance has settled.",
            "KIP-429",
            "clients/reference/consumer/assignors/assignor.py: Assignor",
        ),
    ),
)

NEXT_GROUP = Group(
    "CSM-NGP",
    "Group protocol of KIP-848",
    (
        must(
            "CSM-NGP-01",
            "A member joins with epoch 0, keeps the broker's epoch, and leaves with -1, or with -2 if it is static.",
            "ConsumerMembershipManager, KIP-848",
            "clients/reference/consumer/membership/membership_manager.py: MembershipManager",
        ),
        must(
            "CSM-NGP-02",
            "The broker decides the heartbeats' interval. One is under way, and news is sent at once.",
            "AbstractHeartbeatRequestManager",
            "clients/reference/consumer/membership/heartbeat_manager.py: HeartbeatManager",
            on_any_client="the broker's interval, and one heartbeat at a time",
        ),
        must(
            "CSM-NGP-03",
            "A member that joins, or whose heartbeat has failed, sends all fields, and otherwise what has changed.",
            "ConsumerHeartbeatRequestManager",
            "clients/reference/consumer/membership/heartbeat_contents.py: HeartbeatContents",
        ),
        must(
            "CSM-NGP-04",
            "To reconcile, a member stops reading what it gives up, commits, tells its listener, and only then "
            "acknowledges.",
            "AbstractMembershipManager",
            "clients/reference/consumer/membership/reconciliation.py: Reconciliation",
            on_any_client="what a member gives up is committed, and its listener told, before it acknowledges",
        ),
        must(
            "CSM-NGP-05",
            "A fenced or unknown member stops its heartbeats, reports its partitions as lost, and joins with epoch 0.",
            "AbstractMembershipManager",
            "clients/reference/consumer/membership/membership_manager.py: MembershipManager",
            on_any_client="a fenced member joins with epoch 0, and has reported its partitions as lost by then",
        ),
        must(
            "CSM-NGP-06",
            "A heartbeat whose answer was lost is repeated with the previous epoch, and no rebalance follows.",
            "GroupMetadataManager",
            "clients/reference/consumer/membership/heartbeat_manager.py: HeartbeatManager",
        ),
        should(
            "CSM-NGP-07",
            "A member whose application does not poll in time leaves, loses what it owned, and joins at the next poll.",
            "ConsumerMembershipManager",
            "clients/reference/consumer/membership/membership_manager.py: MembershipManager",
        ),
        should(
            "CSM-NGP-08",
            "A listener that fails keeps a member from acknowledging, until the broker removes it.",
            "AbstractMembershipManager",
            "clients/reference/consumer/membership/membership_manager.py: MembershipManager",
        ),
        should(
            "CSM-NGP-09",
            "Refused authorization, a full group, an unknown assignor, a fenced or doubled instance and a wrong "
            "regular expression end the consumer.",
            "AbstractHeartbeatRequestManager",
            "clients/reference/consumer/membership/heartbeat_manager.py: HeartbeatManager",
        ),
    ),
)
