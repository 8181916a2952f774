"""NET-INF and NET-TMO: requests in flight on a connection, and how long a request may wait there."""

from __future__ import annotations

from suites.requirements.behaviour import REFERENCE, Group, must, should

IN_FLIGHT = Group(
    "NET-INF",
    "Requests in flight",
    (
        must(
            "NET-INF-01",
            "An answer belongs to the oldest request of its connection. An answer with another correlation id reaches "
            "no caller.",
            "InFlightRequests, NetworkClient",
            "clients/reference/network/request_tracker.py: RequestTracker.answered",
            "clients/reference/network/in_flight_requests.py: InFlightRequests.complete_oldest",
        ),
        should(
            "NET-INF-02",
            "Correlation ids rise by one across all connections of a client, wrap from the highest to the lowest "
            "negative number, and leave out those reserved for SASL.",
            "NetworkClient, SaslClientAuthenticator",
            "clients/reference/network/request_tracker.py: RequestTracker.write",
            "clients/reference/network/sasl.py: RESERVED_CORRELATION_IDS",
        ),
        should(
            "NET-INF-03",
            "A node takes another request once the previous one is written to the last byte, and fewer than "
            "max.in.flight.requests.per.connection wait for an answer.",
            "InFlightRequests",
            "clients/reference/network/in_flight_requests.py: InFlightRequests.can_send_more",
        ),
        should(
            "NET-INF-04",
            "A request for a node that is not READY is refused as an error of the caller.",
            "NetworkClient",
            "clients/reference/network/network_client.py: NetworkClient.send",
            scope=REFERENCE,
        ),
        must(
            "NET-INF-05",
            "A Produce request with acks=0 ends once it is written: its records succeed with offset -1, and it does "
            "not count as in flight.",
            "NetworkClient, Sender",
            "clients/reference/network/in_flight_requests.py: InFlightRequests.complete_newest",
        ),
        must(
            "NET-INF-06",
            "The end of a connection ends each of its requests once, in the order of sending, and no request of "
            "another connection.",
            "InFlightRequests, NetworkClient",
            "clients/reference/network/request_tracker.py: RequestTracker.lost",
            "clients/reference/network/in_flight_requests.py: InFlightRequests.clear",
        ),
        should(
            "NET-INF-07",
            "Disconnecting a node notifies the callers of its requests. Closing a node forgets it together with its "
            "requests.",
            "NetworkClient",
            "clients/reference/network/network_client.py: NetworkClient.disconnect",
            "clients/reference/network/network_client.py: NetworkClient.close_node",
            scope=REFERENCE,
        ),
        should(
            "NET-INF-08",
            "A completion handler that raises stops neither the loop nor the handlers after it.",
            "NetworkClient",
            "clients/reference/network/completions.py: Completions.run",
        ),
        should(
            "NET-INF-09",
            "A poll takes at most one answer from each connection, so that a busy broker does not starve others.",
            "Selector",
            "clients/reference/network/channel.py: Channel.report",
            scope=REFERENCE,
        ),
        must(
            "NET-INF-10",
            "An answer may arrive in pieces of any size. An answer that breaks off is a lost connection and not an "
            "answer, and an impossible size ends the connection.",
            "NetworkReceive, Selector",
            "clients/reference/network/channel.py: Channel.feed",
            "harness/wire/frames.py: FrameReader",
        ),
    ),
)

REQUEST_TIMEOUT = Group(
    "NET-TMO",
    "Request timeout",
    (
        should(
            "NET-TMO-01",
            "A request that waits for longer than request.timeout.ms after it was sent ends its connection.",
            "KIP-19; InFlightRequests, NetworkClient",
            "clients/reference/network/in_flight_requests.py: InFlightRequest.expires_ms",
            "clients/reference/network/network_client.py: NetworkClient._handle_slow_requests",
        ),
        should(
            "NET-TMO-02",
            "A request timeout ends all requests of the connection, however young.",
            "NetworkClient",
            "clients/reference/network/request_tracker.py: RequestTracker.lost",
            "clients/reference/network/network_client.py: NetworkClient._handle_slow_requests",
        ),
        should(
            "NET-TMO-03",
            "Batches of a timed-out connection fail with REQUEST_TIMED_OUT, those of a lost one with "
            "NETWORK_EXCEPTION. Both are sent again.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._error_of_lost_request",
            scope=REFERENCE,
        ),
        should(
            "NET-TMO-04",
            "The time for which a broker throttles the client does not count towards a request's timeout.",
            "InFlightRequests",
            "clients/reference/network/in_flight_requests.py: InFlightRequests.throttled",
        ),
        should(
            "NET-TMO-05",
            "A connection that ended or timed out makes the client request metadata. Answers that arrive later change "
            "nothing.",
            "NetworkClient",
            "clients/reference/network/network_client.py: NetworkClient._lost",
        ),
        should(
            "NET-TMO-06",
            "A call's own timeout ends the call, whatever happens to its request, and does not affect later calls.",
            "KIP-266; KafkaProducer, KafkaConsumer",
            "clients/reference/producer/blocked_sends.py: BlockedSends",
            "clients/reference/transport/kafka_producer.py: KafkaProducer.partitions_for",
        ),
    ),
)
