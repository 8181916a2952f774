"""MET: what a client knows about the cluster, when it asks, and which calls wait for it."""

from __future__ import annotations

from suites.requirements.behaviour import Group, should

METADATA = Group(
    "MET",
    "Metadata",
    (
        should(
            "MET-01",
            "Metadata is requested again before it is older than metadata.max.age.ms.",
            "Metadata",
            "clients/reference/metadata/metadata.py: Metadata.next_update_ms",
        ),
        should(
            "MET-02",
            "After a failed refresh, the next one waits for retry.backoff.ms, doubled and jittered up to "
            "retry.backoff.max.ms.",
            "KIP-580; Metadata",
            "clients/reference/metadata/metadata.py: Metadata.failed",
            "clients/reference/common/backoff.py: ExponentialBackoff",
        ),
        should(
            "MET-03",
            "Requested refreshes that bring no change are also spaced further apart each time.",
            "Metadata",
            "clients/reference/metadata/metadata.py: Metadata._space_questions",
        ),
        should(
            "MET-04",
            "The known state of a partition is not replaced by metadata with an older leader epoch.",
            "KIP-320; Metadata",
            "clients/reference/metadata/topic_metadata.py: LeaderEpochs.believes",
        ),
        should(
            "MET-05",
            "A topic with a new id is a new topic: its leader epochs are not compared with those of the old one.",
            "KIP-516; Metadata",
            "clients/reference/metadata/topic_metadata.py: LeaderEpochs.believes",
        ),
        should(
            "MET-06",
            "An answer without brokers is a failed refresh. The known metadata is kept.",
            "NetworkClient",
            "clients/reference/metadata/metadata.py: Metadata.update",
        ),
        should(
            "MET-07",
            "A wait for a topic does not end with the answer to a request that did not ask for the topic.",
            "Metadata",
            "clients/reference/metadata/metadata.py: MetadataRequest",
            "clients/reference/metadata/metadata.py: Metadata._answered",
        ),
        should(
            "MET-08",
            "An error that indicates stale metadata leads to a refresh within the backoff.",
            "Sender, Errors",
            "clients/reference/metadata/metadata.py: Metadata.request_update",
            "clients/reference/producer/sender.py: Sender._complete_batch",
        ),
        should(
            "MET-09",
            "A newer leader named in the error of a Produce answer takes effect at once, and the batch is sent there "
            "without a backoff.",
            "KIP-951; Metadata, Sender",
            "clients/reference/metadata/leadership.py: Leadership.learn",
            "clients/reference/metadata/metadata.py: Metadata.update_partition_leadership",
            "clients/reference/producer/producer_batch.py: ProducerBatch.backs_off_until",
        ),
        should(
            "MET-10",
            "A producer stops requesting a topic that it has not sent to for metadata.max.idle.ms.",
            "KIP-526; ProducerMetadata",
            "clients/reference/metadata/metadata.py: Metadata.next_question",
        ),
        should(
            "MET-11",
            "A send waits for the metadata of its topic. After max.block.ms it fails with a timeout that names both.",
            "KIP-19; KafkaProducer",
            "clients/reference/producer/blocked_sends.py: BlockedSends",
        ),
        should(
            "MET-12",
            "A send to a partition that does not exist waits for it in the same way.",
            "KafkaProducer",
            "clients/reference/producer/blocked_sends.py: topic_with_partition",
            "clients/reference/metadata/metadata.py: Metadata.request_update_for",
        ),
        should(
            "MET-13",
            "If a topic may not be written or its name is invalid, its sends fail as soon as that is known.",
            "Metadata, KafkaProducer",
            "clients/reference/producer/blocked_sends.py: BlockedSends._settle",
        ),
        should(
            "MET-14",
            "Waiting for metadata and waiting for memory share one max.block.ms.",
            "KafkaProducer",
            "clients/reference/producer/blocked_sends.py: BlockedSends",
        ),
        should(
            "MET-15",
            "A producer lets the broker create the topics that it requests. A consumer follows its configuration.",
            "KIP-361; MetadataRequest",
            "clients/reference/common/requests.py: metadata_request",
            "clients/reference/network/metadata_updater.py: MetadataUpdater",
        ),
        should(
            "MET-16",
            "An error that no refresh can fix, or close(), ends the wait for metadata at once.",
            "ProducerMetadata",
            "clients/reference/metadata/metadata.py: Metadata.take_fatal_error",
            "clients/reference/producer/blocked_sends.py: BlockedSends.progress",
            "clients/reference/producer/blocked_sends.py: BlockedSends.give_up",
        ),
    ),
)
