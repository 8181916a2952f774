"""The Sender: what answers mean: mutants of these parts."""

from __future__ import annotations

from collections.abc import Mapping

from clients.mutants.tables.row import DELIVERY, EXPIRY, TRANSITIONS, Mutant
from harness.model.verdicts import Guarantee

ANSWERS: Mapping[str, Mutant] = {
    "acknowledges_before_response": Mutant(
        "reports a record as written as soon as it was sent",
        ("lost", "early-ack", DELIVERY + "at_least_once", EXPIRY + "each_send_ends_once_and_in_time"),
        ("E2E-DEL-01",),
        scenario="produce/disconnect",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "drops_batch_on_disconnect": Mutant(
        "forgets the batches that were in flight on a lost connection",
        ("still-pending", "bookkeeping", TRANSITIONS + "EachRecordIsStoredOnceAndInOrder"),
        ("PRD-FIN-04",),
        scenario="produce/disconnect",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "stalls_after_reset": Mutant(
        "does nothing more for any record once a connection is lost with a request in flight",
        ("stuck",),
        ("E2E-LIV-01",),
        scenario="network/reset",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "reorders_on_retry": Mutant(
        "turns the records of a batch round when it sends it again",
        ("reordered", TRANSITIONS + "EachRecordIsStoredOnceAndInOrder"),
        ("PRD-SND-14", "E2E-DEL-02"),
        scenario="produce/disconnect",
        guarantee=Guarantee.IDEMPOTENT,
    ),
    "reports_success_as_failure": Mutant(
        "takes a lost connection for a refusal, and reports records as certainly not written",
        ("phantom", TRANSITIONS + "EachRecordIsStoredOnceAndInOrder", DELIVERY + "at_most_once"),
        ("PRD-SND-01",),
        scenario="produce/dropped-response",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "corrupts_on_retry": Mutant(
        "damages a value when it sends a batch again",
        ("corrupted", TRANSITIONS + "BatchesGoWhenTheyMayAndInOrder"),
        ("PRD-ACC-12",),
        scenario="produce/dropped-response",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "adds_a_header_on_retry": Mutant(
        "adds a header to a record when it sends a batch again",
        ("corrupted",),
        ("PRD-ACC-12",),
        scenario="produce/dropped-response",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "misdates_on_retry": Mutant(
        "dates records a day back when it sends a batch again",
        ("record-timestamps",),
        ("PRD-ISP-09",),
        scenario="produce/dropped-response",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "gives_up_on_disconnect": Mutant(
        "does not send again what was in flight on a lost connection",
        ("gave-up",),
        ("PRD-SND-06",),
        scenario="produce/disconnect",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "never_expires": Mutant(
        "waits for ever for an answer whose connection is gone",
        ("delivery-timeout", "deadlines"),
        ("PRD-EXP-01",),
        scenario="produce/disconnect",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "retries_final_errors": Mutant(
        "sends again what a broker refused for good",
        (DELIVERY + "what_was_refused_for_good_is_over",),
        ("PRD-SND-03",),
    ),
    "ignores_retries": Mutant(
        "sends again for as long as there is time, whatever retries says",
        (DELIVERY + "after_the_last_retry_it_is_over",),
        ("PRD-SND-02",),
    ),
    "unknown_topic_is_fatal": Mutant(
        "fails records at once whose topic the broker does not know",
        (DELIVERY + "a_deleted_topic_fails_alone",),
        ("PRD-SND-11",),
    ),
    "retries_too_large_record": Mutant(
        "sends a single record again that is too large",
        (DELIVERY + "a_record_too_large_fails_alone",),
        ("PRD-SPL-02",),
    ),
    "keeps_topic_id": Mutant(
        "keeps the first id of a topic that was created anew",
        (DELIVERY + "a_recreated_topic_is_written_under_its_new_id",),
        ("PRD-SND-15",),
    ),
    "never_creates_topics": Mutant(
        "forbids brokers to create the topics that it uses",
        (DELIVERY + "topics_may_be_created_by_being_used",),
        ("MET-15",),
    ),
    "acks_of_the_leader_alone": Mutant(
        "asks for acks=1 where all is wanted",
        (DELIVERY + "acks_are_what_was_asked_for", "not-as-configured"),
        ("PRD-SND-16",),
    ),
    "records_of_any_size": Mutant(
        "sends records that are larger than max.request.size",
        (DELIVERY + "a_record_beyond_the_limit_fails_at_once",),
        ("PRD-ACC-10",),
    ),
    "corrupt_message_is_fatal": Mutant(
        "fails a batch that was damaged on its way",
        (DELIVERY + "what_may_succeed_later_is_sent_again",),
        ("PRD-SND-08",),
    ),
    "fails_all_partitions": Mutant(
        "fails a whole request where one partition is refused",
        (DELIVERY + "a_partition_answers_for_itself",),
        ("PRD-SND-04",),
    ),
    "forgets_unanswered_partition": Mutant(
        "takes a partition that an answer leaves out for stored",
        (DELIVERY + "a_partition_without_an_answer_is_not_stored",),
        ("PRD-SND-05",),
    ),
    "blames_all_records": Mutant(
        "blames every record of a batch for the bad ones in it",
        (DELIVERY + "only_bad_records_are_blamed",),
        ("PRD-SND-12",),
    ),
    "duplicate_is_an_error": Mutant(
        "takes a batch that the broker has already for refused",
        (DELIVERY + "a_duplicate_counts_as_stored",),
        ("PRD-IDM-06",),
    ),
    "timeout_is_a_disconnect": Mutant(
        "reports a request that timed out like any lost connection",
        (EXPIRY + "a_timeout_is_not_a_lost_connection",),
        ("NET-TMO-03",),
    ),
    "retries_in_another_partition": Mutant(
        "sends a batch that failed to another partition",
        ("partition-moved",),
        ("PRD-SND-02",),
        scenario="produce/dropped-response",
        guarantee=Guarantee.AT_LEAST_ONCE,
    ),
    "retries_unsupported_version": Mutant(
        "tries a batch again that no common version can carry",
        (DELIVERY + "without_a_common_version_nothing_is_written",),
        ("PRD-SND-07",),
    ),
    "too_few_replicas_is_final": Mutant(
        "fails a batch at once that too few replicas could take, or have taken",
        (DELIVERY + "too_few_replicas_are_waited_for",),
        ("PRD-SND-09",),
    ),
    "sends_everything_twice": Mutant(
        "writes every Produce request twice",
        (
            "duplicate",
            DELIVERY + "at_least_once",
        ),
        ("E2E-DEL-03",),
    ),
}
