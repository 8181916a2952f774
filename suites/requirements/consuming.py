"""CSM: what a consumer's application may call, what it is given, and what it commits."""

from __future__ import annotations

from typing import Final

from suites.requirements.behaviour import REFERENCE, Group, must, should

_CONSUMER: Final = "clients/reference/consumer"
_STATE: Final = f"{_CONSUMER}/subscription/subscription_state.py"

API = Group(
    "CSM-API",
    "Calls of a consumer",
    (
        should(
            "CSM-API-01",
            "A consumer subscribes to topics, to a pattern, or is assigned partitions: one of the three until it "
            "unsubscribes, which an empty list of topics does too.",
            "SubscriptionState",
            f"{_STATE}: SubscriptionState.assign_from_user",
            on_any_client="a subscribed consumer does not accept an assignment",
        ),
        should(
            "CSM-API-02",
            "poll() without subscription or assignment is an illegal state. Otherwise it returns once there are "
            "records or the position moves, at the latest at its timeout.",
            "ClassicKafkaConsumer",
            f"{_CONSUMER}/consumer.py: ConsumerCore.poll",
            on_any_client="a poll without a subscription is refused",
        ),
        should(
            "CSM-API-03",
            "Only wakeup() may be called while another thread is in a call.",
            "ClassicKafkaConsumer",
            "clients/reference/transport/consumer_driver.py: ConsumerDriver.run_call",
            scope=REFERENCE,
        ),
        should(
            "CSM-API-04",
            "A blocking call ends with a timeout error by its own limit, or by default.api.timeout.ms.",
            "KIP-266",
            f"{_CONSUMER}/offsets/offset_fetcher.py: OffsetFetcher.offsets_for_times",
            on_any_client="a synchronous commit, of clients that have default.api.timeout.ms",
        ),
        should(
            "CSM-API-05",
            "close() ends by its limit. Before that it commits what automatic commits cover, tells the listener, "
            "leaves the group and ends fetch sessions.",
            "ClassicKafkaConsumer, KIP-102",
            f"{_CONSUMER}/fetch/fetcher.py: Fetcher.close",
            on_any_client="a close ends by its limit, and the member leaves the group",
        ),
        should(
            "CSM-API-06",
            "seek, position, pause and resume concern assigned partitions only. A negative offset is refused.",
            "SubscriptionState",
            f"{_STATE}: SubscriptionState.seek",
            on_any_client="pause, resume and seek are refused for partitions of others",
        ),
    ),
)

COMMIT = Group(
    "CSM-OFC",
    "Offset commit and fetch",
    (
        should(
            "CSM-OFC-01",
            "A synchronous commit repeats what may succeed later until its limit. An asynchronous one reports it.",
            "ConsumerCoordinator",
            "clients/reference/consumer/coordinator/offset_commits.py: OffsetCommits",
        ),
        should(
            "CSM-OFC-02",
            "Callbacks of asynchronous commits run in their order on the thread that polls, and before a later "
            "synchronous commit returns.",
            "ConsumerCoordinator",
            f"{_CONSUMER}/coordinator/offset_commits.py: OffsetCommits.run_callbacks",
            on_any_client="the order of the results, without the thread",
        ),
        must(
            "CSM-OFC-03",
            "A commit of an outdated generation or an unknown member fails, and the coordinator stores nothing.",
            "ConsumerCoordinator",
            f"{_CONSUMER}/errors.py: CommitFailedError",
            on_any_client="nothing is stored for a partition that the member does not own",
        ),
        should(
            "CSM-OFC-04",
            "With a stale epoch a synchronous commit fails. The one before a revocation is repeated with the new one.",
            "CommitRequestManager",
            f"{_CONSUMER}/membership/reconciliation.py: CommitBeforeRevocation.is_over",
        ),
        must(
            "CSM-OFC-05",
            "Without a subscription, commits name no member and generation -1, and still follow the coordinator.",
            "ConsumerCoordinator",
            "clients/reference/consumer/coordinator/offset_commits.py: OffsetCommits",
        ),
        must(
            "CSM-OFC-06",
            "A commit holds the offset of the next record to read. Its metadata and leader epoch come back with it.",
            "OffsetAndMetadata",
            f"{_STATE}: SubscriptionState.all_consumed",
            on_any_client="the offset, without its metadata and leader epoch",
        ),
        must(
            "CSM-OFC-07",
            "A consumer asks for stable offsets, and asks again while a transaction holds them back or the coordinator "
            "moves.",
            "ConsumerCoordinator, KIP-447",
            "clients/reference/consumer/coordinator/offset_fetches.py: OffsetFetches",
        ),
    ),
)

AUTO_COMMIT = Group(
    "CSM-ACM",
    "Automatic commits",
    (
        must(
            "CSM-ACM-01",
            "An automatic commit covers records of earlier polls only.",
            "ConsumerCoordinator",
            "clients/reference/consumer/coordinator/offset_commits.py: OffsetCommits",
        ),
        should(
            "CSM-ACM-02",
            "Automatic commits happen in poll() after the interval, before partitions are given up, and at close().",
            "ConsumerCoordinator",
            "clients/reference/consumer/coordinator/offset_commits.py: OffsetCommits",
        ),
        should(
            "CSM-ACM-03",
            "An automatic commit that fails is tried again after the backoff or the interval, and poll() goes on.",
            "ConsumerCoordinator",
            "clients/reference/consumer/coordinator/offset_commits.py: OffsetCommits",
        ),
        must(
            "CSM-ACM-04",
            "A partition whose position is being reset or validated is left out of automatic commits.",
            "SubscriptionState",
            f"{_STATE}: SubscriptionState.all_consumed",
        ),
    ),
)

FETCH = Group(
    "CSM-FET",
    "Fetch, seek, pause, isolation, reset",
    (
        should(
            "CSM-FET-01",
            "One fetch at a time is under way to a broker, and none while its last answer waits to be read.",
            "AbstractFetch",
            f"{_CONSUMER}/fetch/fetcher.py: Fetcher.send_fetches",
            on_any_client="one fetch at a time is under way to a broker",
        ),
        must(
            "CSM-FET-02",
            "The owner of a partition is given its records in the order of their offsets, with neither a gap nor a "
            "repetition, whatever happens to connections and leaders.",
            "CompletedFetch",
            f"{_STATE}: SubscriptionState",
        ),
        must(
            "CSM-FET-03",
            "What was fetched for a position or an assignment that has ended is dropped.",
            "FetchCollector, KIP-429",
            f"{_CONSUMER}/fetch/fetch_collector.py: FetchCollector.collect",
        ),
        must(
            "CSM-FET-04",
            "The position passes offsets without records, such as those of markers and compacted records.",
            "CompletedFetch",
            f"{_CONSUMER}/fetch/completed_fetch.py: CompletedFetch.fetch_records",
        ),
        must(
            "CSM-FET-05",
            "With read_committed, an application is given committed and plain records up to the last stable offset.",
            "CompletedFetch",
            f"{_CONSUMER}/fetch/completed_fetch.py: CompletedFetch",
        ),
        must(
            "CSM-FET-06",
            "Beyond the log, the position is reset as configured, or an error names partition and offset. Nothing else "
            "moves it.",
            "FetchCollector, KIP-392",
            f"{_CONSUMER}/fetch/fetch_collector.py: FetchCollector",
        ),
        must(
            "CSM-FET-07",
            "After a change of the leader epoch the position is compared with the leader's log before more is read.",
            "SubscriptionState, KIP-320",
            f"{_CONSUMER}/offsets/position_validator.py: PositionValidator",
        ),
        should(
            "CSM-FET-08",
            "A paused partition yields nothing and is not fetched. What it had fetched is kept until it is resumed.",
            "FetchCollector",
            f"{_STATE}: SubscriptionState.pause",
        ),
        should(
            "CSM-FET-09",
            "A record that is damaged or cannot be deserialized is an error with its place, after the good ones before "
            "it, until the application seeks.",
            "CompletedFetch",
            f"{_CONSUMER}/fetch/completed_fetch.py: CompletedFetch.fetch_records",
            on_any_client="a batch with a wrong checksum is neither delivered nor passed over",
        ),
        must(
            "CSM-FET-10",
            "A fetch session begins with a full request, goes on with changes and rising epochs, and begins again "
            "after a lost answer or a refusal.",
            "FetchSessionHandler, KIP-227",
            f"{_CONSUMER}/fetch/fetch_session_handler.py: FetchSessionHandler",
        ),
        should(
            "CSM-FET-11",
            "A new owner begins at the offset that the group has stored. Without one, the reset policy decides.",
            "ConsumerCoordinator, OffsetFetcher",
            f"{_CONSUMER}/offsets/offset_fetcher.py: OffsetFetcher.reset_if_needed",
            on_any_client="a new owner does not begin before the stored offset",
        ),
    ),
)

WAKEUP = Group(
    "CSM-WKP",
    "Wakeup",
    (
        should(
            "CSM-WKP-01",
            "wakeup() makes the current or the next blocking call raise once, and no record is lost by it.",
            "ConsumerNetworkClient",
            f"{_CONSUMER}/consumer_network_client.py: ConsumerNetworkClient.maybe_trigger_wakeup",
        ),
        should(
            "CSM-WKP-02",
            "After a wakeup the join goes on at the next poll, and a commit may or may not have happened. close() is "
            "not interrupted.",
            "AbstractCoordinator",
            f"{_CONSUMER}/consumer_network_client.py: ConsumerNetworkClient.disable_wakeups",
            on_any_client="the join goes on",
        ),
    ),
)
