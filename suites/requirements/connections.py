"""NET-CON: how a connection to a node is opened, ends, and is tried again."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must, should

CONNECTIONS = Group(
    "NET-CON",
    "Connections",
    (
        should(
            "NET-CON-01",
            "A new connection first learns the broker's API versions. It carries no other request before it is READY.",
            "KIP-35; ClusterConnectionStates, NetworkClient",
            "clients/reference/states.py: CONNECTION",
            "clients/reference/network/network_client.py: NetworkClient._handle_connected",
            "clients/reference/network/channel.py: Channel.established",
        ),
        must(
            "NET-CON-02",
            "A broker that does not know the ApiVersions version is asked again on the same connection, with the "
            "highest version that it named, or 0.",
            "KIP-511; NetworkClient",
            "clients/reference/network/api_versions.py: version_to_ask_instead",
            "clients/reference/network/network_client.py: NetworkClient._handle_api_versions",
        ),
        should(
            "NET-CON-03",
            "An ApiVersions answer with another error ends the connection, and the node backs off.",
            "NetworkClient",
            "clients/reference/network/api_versions.py: refusal",
            "clients/reference/network/network_client.py: NetworkClient._handle_api_versions",
        ),
        must(
            "NET-CON-04",
            "A request has a version that both sides know. If there is none, it fails as unsupported without a byte "
            "on the wire, and the connection stays open.",
            "KIP-35, KIP-896; NodeApiVersions",
            "clients/reference/network/api_versions.py: ApiVersions.version_for",
            "harness/wire/versions.py: negotiate",
            "clients/reference/network/network_client.py: NetworkClient.send",
        ),
        should(
            "NET-CON-05",
            "Connection attempts to one node are spaced by reconnect.backoff.ms, doubled and jittered up to "
            "reconnect.backoff.max.ms. Other nodes do not wait for it.",
            "KIP-144; ClusterConnectionStates",
            "clients/reference/network/connection_states.py: ClusterConnectionStates.disconnected",
            "clients/reference/common/backoff.py: ExponentialBackoff",
        ),
        should(
            "NET-CON-06",
            "Only reaching READY resets the backoff. A connection that is accepted and then dropped makes the next "
            "wait longer.",
            "ClusterConnectionStates",
            "clients/reference/network/connection_states.py: ClusterConnectionStates.ready",
        ),
        should(
            "NET-CON-07",
            "After the loss of a READY connection the next attempt also waits for a backoff.",
            "ClusterConnectionStates",
            "clients/reference/network/connection_states.py: ClusterConnectionStates.can_connect",
        ),
        should(
            "NET-CON-08",
            "An attempt that has not connected within socket.connection.setup.timeout.ms is given up. The limit "
            "doubles, with jitter, with each failure in a row.",
            "KIP-601; ClusterConnectionStates",
            "clients/reference/network/connection_states.py: ClusterConnectionStates.setup_expiries",
            "clients/reference/network/network_client.py: NetworkClient._handle_slow_set_ups",
        ),
        should(
            "NET-CON-09",
            "All addresses of a host name are tried in turn. After a lost connection the name is resolved again, and "
            "the address last used is tried last.",
            "KIP-302, KIP-602, KAFKA-12193, KAFKA-15817; ClusterConnectionStates",
            "clients/reference/network/node_addresses.py: NodeAddresses",
        ),
        should(
            "NET-CON-10",
            "A node that moved to another host starts afresh: old addresses and old backoff are forgotten.",
            "ClusterConnectionStates",
            "clients/reference/network/connection_states.py: ClusterConnectionStates.connecting",
            "clients/reference/network/connection_states.py: ClusterConnectionStates.can_connect",
        ),
        should(
            "NET-CON-11",
            "Refused credentials are reported to callers as an authentication error that is not retried. The next "
            "connection waits for the backoff.",
            "KIP-152; NetworkClient",
            "clients/reference/network/connection_states.py: ClusterConnectionStates.authentication_failed",
            "clients/reference/network/network_client.py: NetworkClient.authentication_error",
            "clients/reference/network/sasl.py: PlainAuthenticator",
        ),
        should(
            "NET-CON-12",
            "After an answer with throttle_time_ms the node gets no request until that time has passed. The end of a "
            "throttle is never brought forward, and the connection stays open.",
            "KIP-219; ClusterConnectionStates, NetworkClient",
            "clients/reference/network/connection_states.py: ClusterConnectionStates.throttle",
            "clients/reference/network/throttling.py: client_throttle_ms",
        ),
        should(
            "NET-CON-13",
            "A request for any broker goes to the ready node with the fewest requests in flight, else to one that is "
            "connecting, else to the one not tried for the longest time. Throttled and backing-off nodes are left "
            "out.",
            "NetworkClient",
            "clients/reference/network/network_client.py: NetworkClient.least_loaded_node",
            "clients/reference/network/least_loaded.py: least_loaded",
        ),
        should(
            "NET-CON-14",
            "A connection unused for connections.max.idle.ms is closed, one per poll, the oldest first, and no "
            "request fails because of it.",
            "Selector",
            "clients/reference/network/idle_connections.py: IdleConnections",
            "clients/reference/network/network_client.py: NetworkClient._handle_idle_connection",
        ),
        should(
            "NET-CON-15",
            "If there is no node left to ask, on REBOOTSTRAP_REQUIRED, or after too long without metadata, all "
            "connections are closed and the bootstrap servers are asked again.",
            "KIP-899, KIP-1102; NetworkClient, Metadata",
            "clients/reference/metadata/metadata.py: Metadata.rebootstrap",
            "clients/reference/network/network_client.py: NetworkClient._handle_rebootstrap",
            "clients/reference/network/metadata_updater.py: MetadataUpdater.maybe_update",
        ),
        should(
            "NET-CON-16",
            "The group coordinator has its own connection, so that data cannot delay a heartbeat.",
            "AbstractCoordinator",
            "clients/reference/network/node_addresses.py: coordinator_node",
            "clients/reference/network/network_client.py: NetworkClient.add_node",
        ),
    ),
)
