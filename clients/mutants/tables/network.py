"""Connections and requests: mutants of these parts."""

from __future__ import annotations

from collections.abc import Mapping

from clients.mutants.tables.row import DELIVERY, EXPIRY, TRANSITIONS, Mutant
from harness.model.verdicts import Guarantee

NETWORK: Mapping[str, Mutant] = {
    "answers_any_request": Mutant(
        "takes the next response of a connection for the answer to its oldest request, unseen",
        (DELIVERY + "an_answer_to_another_request_is_none",),
        ("NET-INF-01",),
    ),
    "loses_newest_first": Mutant(
        "ends what was in flight on a lost connection in reverse",
        (TRANSITIONS + "RequestsEndOnceAndInOrder", "in-flight"),
        ("NET-INF-06",),
    ),
    "one_too_many_in_flight": Mutant(
        "has one request more out than max.in.flight.requests.per.connection allows",
        (TRANSITIONS + "RequestsEndOnceAndInOrder", "in-flight", "requests-in-flight"),
        ("NET-INF-03",),
    ),
    "timeout_abandons_one_request": Mutant(
        "ends a request that takes too long, and keeps its connection",
        (TRANSITIONS + "RequestsEndOnceAndInOrder", EXPIRY + "a_slow_request_ends_its_connection"),
        ("NET-TMO-01", "NET-TMO-02"),
    ),
    "ignores_throttling": Mutant(
        "sends on to a broker that asks to be left alone",
        (
            TRANSITIONS + "ConnectionsWalkTheirStates",
            EXPIRY + "a_throttled_node_is_left_alone",
            "throttle-ignored",
        ),
        ("NET-CON-12",),
    ),
    "counts_throttle_as_timeout": Mutant(
        "counts the time of throttling towards the request timeout",
        (EXPIRY + "throttled_time_is_added_to_the_limit",),
        ("NET-TMO-04",),
    ),
    "forgives_when_connected": Mutant(
        "forgets the failures of a node as soon as it accepts a connection",
        (TRANSITIONS + "ConnectionsWalkTheirStates", EXPIRY + "each_failure_in_a_row_waits_longer"),
        ("NET-CON-06",),
    ),
    "reconnects_at_once": Mutant(
        "tries a node again at once, however often that has failed",
        (
            TRANSITIONS + "ConnectionsWalkTheirStates",
            "in-flight",
            "deadlines",
            EXPIRY + "silence_makes_no_storm",
        ),
        ("NET-CON-05",),
    ),
    "caps_backoff_before_jitter": Mutant(
        "lets a reconnect backoff exceed its maximum by the jitter",
        (EXPIRY + "each_failure_in_a_row_waits_longer",),
        ("NET-CON-05",),
    ),
    "set_up_time_does_not_grow": Mutant(
        "gives every attempt to connect the same time",
        (EXPIRY + "a_set_up_without_an_end_is_given_up",),
        ("NET-CON-08",),
    ),
    "keeps_idle_connections": Mutant(
        "keeps idle connections until the broker closes them",
        (EXPIRY + "an_idle_connection_is_closed",),
        ("NET-CON-14",),
    ),
    "sleeps_past_slow_requests": Mutant(
        "does not wake up for a request that takes too long",
        (EXPIRY + "a_slow_request_ends_its_connection",),
        ("NET-TMO-01",),
    ),
    "waits_for_connect_forever": Mutant(
        "sets no limit to the making of a connection",
        (TRANSITIONS + "ConnectionsWalkTheirStates", EXPIRY + "a_set_up_without_an_end_is_given_up"),
        ("NET-CON-08",),
    ),
    "keeps_dead_address": Mutant(
        "resolves a name once, and tries its first address for ever",
        (DELIVERY + "every_address_gets_its_turn",),
        ("NET-CON-09",),
    ),
    "new_address_keeps_backoff": Mutant(
        "has a broker that moved wait for the backoff of its old address",
        (TRANSITIONS + "ConnectionsWalkTheirStates",),
        ("NET-CON-10",),
    ),
    "asks_throttled_node": Mutant(
        "asks the node with the fewest requests, in whatever state it is",
        (TRANSITIONS + "ConnectionsWalkTheirStates", DELIVERY + "a_throttled_node_is_asked_nothing"),
        ("NET-CON-13",),
    ),
    "never_forgives": Mutant(
        "counts failures on when a connection has become ready",
        (TRANSITIONS + "ConnectionsWalkTheirStates", EXPIRY + "a_ready_connection_forgets_failures"),
        ("NET-CON-07",),
    ),
    "set_up_includes_versions": Mutant(
        "limits the wait for a broker's versions by the time for making a connection",
        (EXPIRY + "the_wait_for_versions_is_a_request",),
        ("NET-CON-08",),
    ),
    "gives_up_early": Mutant(
        "gives a request up when half of its time is over",
        (EXPIRY + "an_answer_counts_until_the_limit",),
        ("NET-TMO-01",),
    ),
    "sends_before_ready": Mutant(
        "sends requests before the broker has told its versions",
        (TRANSITIONS + "ConnectionsWalkTheirStates",),
        ("NET-CON-01",),
    ),
    "always_highest_version": Mutant(
        "speaks its own newest versions, whatever the broker offers",
        (
            DELIVERY + "a_request_has_a_version_that_both_know",
            DELIVERY + "without_a_common_version_nothing_is_written",
        ),
        ("NET-CON-04",),
    ),
    "gives_up_on_unsupported_api_versions": Mutant(
        "gives a broker up that does not know the newest ApiVersions request",
        (DELIVERY + "an_older_broker_is_asked_again",),
        ("NET-CON-02",),
    ),
    "idle_close_fails_request": Mutant(
        "calls a connection idle on which an answer is awaited",
        (EXPIRY + "an_idle_connection_is_closed",),
        ("NET-CON-14",),
    ),
    "ignores_rebootstrap": Mutant(
        "never goes back to its bootstrap servers",
        (EXPIRY + "nobody_to_ask_begins_anew", EXPIRY + "no_metadata_for_too_long_begins_anew"),
        ("NET-CON-15",),
    ),
    "one_callback_stops_all": Mutant(
        "lets a completion callback that raises stop the others",
        (TRANSITIONS + "RequestsEndOnceAndInOrder",),
        ("NET-INF-08",),
    ),
    "awaits_answer_of_acks_0": Mutant(
        "waits for the answer to a request without acknowledgement",
        (TRANSITIONS + "RequestsEndOnceAndInOrder",),
        ("NET-INF-05",),
    ),
    "one_connection_a_broker": Mutant(
        "speaks to a broker as coordinator over the connection that carries its data",
        (DELIVERY + "a_coordinator_has_a_connection_of_its_own",),
        ("NET-CON-16",),
    ),
    "hammers_after_refused_authentication": Mutant(
        "tries a node at once again that refused its credentials",
        (DELIVERY + "a_refused_authentication_is_told_and_backed_off",),
        ("NET-CON-11",),
    ),
    "one_read_is_one_frame": Mutant(
        "takes what one read brings for one frame",
        (TRANSITIONS + "fragments_make_whole_frames",),
        ("NET-INF-10",),
    ),
    "tells_all_frames_at_once": Mutant(
        "tells all frames of a connection in one poll",
        (TRANSITIONS + "fragments_make_whole_frames",),
        ("NET-INF-09",),
    ),
    "torn_frame_is_a_frame": Mutant(
        "takes what there is of a frame at the end of a connection for a whole one",
        (TRANSITIONS + "a_torn_frame_is_an_end",),
        ("NET-INF-10",),
    ),
    "believes_any_size": Mutant(
        "waits for a frame of a size that cannot be",
        (TRANSITIONS + "an_impossible_size_ends_the_connection",),
        ("NET-INF-10",),
    ),
    "correlation_ids_by_node": Mutant(
        "counts correlation ids from 0 on each connection",
        (TRANSITIONS + "RequestsEndOnceAndInOrder", "in-flight"),
        ("NET-INF-02",),
    ),
    "keeps_refused_connection": Mutant(
        "keeps a connection whose question for versions was answered with an error",
        (TRANSITIONS + "ConnectionsWalkTheirStates",),
        ("NET-CON-03",),
    ),
    "drops_unready_requests": Mutant(
        "drops a request for a node that is not ready, without an error",
        (TRANSITIONS + "RequestsEndOnceAndInOrder",),
        ("NET-INF-04",),
    ),
    "close_ends_requests": Mutant(
        "ends the requests of a node that is closed like those of a lost connection",
        (TRANSITIONS + "RequestsEndOnceAndInOrder",),
        ("NET-INF-07",),
    ),
    "uses_reserved_correlation_ids": Mutant(
        "gives requests the correlation ids that are kept for SASL",
        (TRANSITIONS + "correlation_ids_go_round",),
        ("NET-INF-02",),
    ),
    "remembers_api_versions": Mutant(
        "asks a broker for its versions once, and not on each connection",
        ("api-versions-first",),
        ("NET-CON-01",),
    ),
    "leaks_connections": Mutant(
        "opens connections that it has no use for", ("connections-leaked",), ("NET-CON-05",)
    ),
    "sends_to_another_topic": Mutant(
        "names another topic in every third Produce request",
        ("uninvited-request",),
        ("E2E-DEL-06",),
        scenario="produce/calm",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
}
