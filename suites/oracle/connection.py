"""The connection to a node, from NetworkClient and ClusterConnectionStates."""

from __future__ import annotations

from suites.oracle.machine import LeftOut, MachineOracle, Move

_LOST = "NetworkClient#processDisconnection, #disconnect: ClusterConnectionStates#disconnected"
_CLOSED = "NetworkClient#close(nodeId): ClusterConnectionStates#remove drops the entry; NET-INF-07"

CONNECTION = MachineOracle(
    name="connection",
    about="One machine per node, ConnectionState in Java. A node without an entry counts as DISCONNECTED.",
    initial="DISCONNECTED",
    requirement="NET-CON-01",
    moves=(
        Move(
            "DISCONNECTED",
            "connect",
            "CONNECTING",
            "NetworkClient#initiateConnect, after #canConnect: ClusterConnectionStates#connecting; NET-CON-05",
        ),
        Move(
            "AUTHENTICATION_FAILED",
            "connect",
            "CONNECTING",
            "ConnectionState#isDisconnected includes it, so ClusterConnectionStates#canConnect does; NET-CON-11",
        ),
        Move(
            "CONNECTING",
            "connected",
            "CHECKING_API_VERSIONS",
            "NetworkClient#handleConnections, #handleInitiateApiVersionRequests; KIP-35",
        ),
        Move(
            "CONNECTING",
            "disconnect",
            "DISCONNECTED",
            "NetworkClient#handleTimedOutConnections (KIP-601), #handleDisconnections, #initiateConnect",
        ),
        Move(
            "CHECKING_API_VERSIONS",
            "lower-api-versions",
            "CHECKING_API_VERSIONS",
            "NetworkClient#handleApiVersionsResponse on UNSUPPORTED_VERSION; KIP-511, NET-CON-02",
        ),
        Move(
            "CHECKING_API_VERSIONS",
            "api-versions",
            "READY",
            "NetworkClient#handleApiVersionsResponse: ClusterConnectionStates#ready",
        ),
        Move(
            "CHECKING_API_VERSIONS",
            "disconnect",
            "DISCONNECTED",
            "NetworkClient#handleApiVersionsResponse on another error, #processDisconnection; NET-CON-03",
        ),
        Move("READY", "disconnect", "DISCONNECTED", f"{_LOST}; NET-CON-07"),
        Move(
            "DISCONNECTED",
            "authentication-failed",
            "AUTHENTICATION_FAILED",
            "NetworkClient#processDisconnection: #disconnected first, then #authenticationFailed; KIP-152",
        ),
        Move("DISCONNECTED", "forget", "DISCONNECTED", _CLOSED),
        Move("CONNECTING", "forget", "DISCONNECTED", _CLOSED),
        Move("CHECKING_API_VERSIONS", "forget", "DISCONNECTED", _CLOSED),
        Move("READY", "forget", "DISCONNECTED", _CLOSED),
        Move("AUTHENTICATION_FAILED", "forget", "DISCONNECTED", _CLOSED),
    ),
    left_out=(
        LeftOut(
            "CONNECTING",
            "connected",
            "READY",
            "NetworkClient#handleConnections if discoverBrokerVersions is false",
            "Only brokers among themselves switch the discovery off. A producer always asks for versions.",
        ),
        LeftOut(
            "any state",
            "connect",
            "CONNECTING",
            "ClusterConnectionStates#connecting does not look at the old state",
            "Its only caller asks #canConnect first, which demands a disconnected node.",
        ),
    ),
)
