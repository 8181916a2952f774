"""Batches: when they go, how they end, how they are split: mutants of these parts."""

from __future__ import annotations

from collections.abc import Mapping

from clients.mutants.tables.row import DELIVERY, EXPIRY, TRANSITIONS, Mutant
from harness.model.verdicts import Guarantee

BATCHES: Mapping[str, Mutant] = {
    "ignores_linger": Mutant(
        "sends a batch as soon as it has a record",
        (TRANSITIONS + "BatchesGoWhenTheyMayAndInOrder", EXPIRY + "a_batch_lingers_and_then_goes"),
        ("PRD-ACC-03",),
    ),
    "retries_without_pause": Mutant("sends a refused batch again at once", ("bookkeeping",), ("PRD-ACC-04",)),
    "forgets_retry_backoff": Mutant(
        "gives a refused batch no backoff",
        (EXPIRY + "a_retry_waits_its_backoff", EXPIRY + "what_must_wait_waits", "retry-spacing"),
        ("PRD-ACC-04",),
    ),
    "requeues_at_the_end": Mutant(
        "puts a batch that goes again behind younger ones", ("bookkeeping",), ("PRD-ACC-04",)
    ),
    "drains_from_the_first": Mutant(
        "fills every request from the first partition on",
        (TRANSITIONS + "no_partition_starves",),
        ("PRD-ACC-06",),
    ),
    "oversized_request": Mutant(
        "takes a batch of every partition into a request, beyond max.request.size",
        (TRANSITIONS + "BatchesGoWhenTheyMayAndInOrder",),
        ("PRD-ACC-05",),
    ),
    "sends_from_muted_partitions": Mutant(
        "sends a partition's next batch while one is out, with one request in flight",
        (TRANSITIONS + "BatchesGoWhenTheyMayAndInOrder",),
        ("PRD-ACC-08",),
    ),
    "one_slow_node_stops_all": Mutant(
        "sends nothing to any broker while one cannot take its batches",
        (DELIVERY + "a_slow_broker_holds_up_its_own_partitions_alone",),
        ("PRD-ACC-13",),
    ),
    "callback_twice": Mutant(
        "runs the callbacks of a batch as often as it is published",
        (TRANSITIONS + "a_batch_takes_one_final_state",),
        ("PRD-FIN-01", "PRD-SND-13"),
    ),
    "callbacks_out_of_order": Mutant(
        "runs the callbacks of a batch in reverse",
        (TRANSITIONS + "a_batch_takes_one_final_state", DELIVERY + "what_was_sent_is_stored_and_told"),
        ("PRD-SND-13",),
    ),
    "ends_batches_twice": Mutant(
        "reports a batch twice that was sent again", ("transition",), ("PRD-FIN-01",)
    ),
    "applies_late_response": Mutant(
        "makes a failed batch a success when its answer comes late",
        (TRANSITIONS + "a_batch_takes_one_final_state", EXPIRY + "what_was_given_up_stays_given_up"),
        ("PRD-FIN-02",),
    ),
    "expired_batch_is_sent_again": Mutant(
        "sends a batch again that expired and was reported",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder", "bookkeeping"),
        ("PRD-EXP-03",),
    ),
    "sleeps_past_expiry": Mutant(
        "does not wake up for a batch that expires",
        (EXPIRY + "every_record_has_a_result_in_time",),
        ("PRD-EXP-05",),
    ),
    "sleeps_past_linger": Mutant(
        "does not wake up when linger.ms is over",
        (EXPIRY + "a_batch_lingers_and_then_goes",),
        ("PRD-ACC-03",),
    ),
    "delivery_timeout_from_send": Mutant(
        "begins delivery.timeout.ms anew with every attempt",
        (EXPIRY + "every_record_has_a_result_in_time",),
        ("PRD-EXP-01",),
    ),
    "one_offset_for_a_batch": Mutant(
        "tells every record of a batch the offset of the first",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder", DELIVERY + "what_was_sent_is_stored_and_told"),
        ("PRD-SND-01",),
    ),
    "timestamp_of_the_client": Mutant(
        "tells a record its own timestamp where the broker's counts",
        (DELIVERY + "what_was_sent_is_stored_and_told",),
        ("PRD-ISP-09",),
    ),
    "rebuilds_batch_on_retry": Mutant(
        "builds a batch anew for each attempt, with later timestamps",
        (TRANSITIONS + "BatchesGoWhenTheyMayAndInOrder", DELIVERY + "what_was_sent_is_stored_and_told"),
        ("PRD-SND-02",),
    ),
    "never_splits": Mutant(
        "fails a batch that is too large for the broker as a whole",
        ("unsplit", DELIVERY + "a_batch_too_large_goes_in_parts"),
        ("PRD-SPL-01",),
        scenario="broker/smaller-batches",
        guarantee=Guarantee.IDEMPOTENT,
    ),
    "split_reverses": Mutant(
        "sends the parts of a split batch in reverse",
        (DELIVERY + "a_batch_too_large_goes_in_parts",),
        ("PRD-SPL-01",),
    ),
    "split_uses_retry": Mutant(
        "counts a split as a failed attempt",
        (TRANSITIONS + "a_split_batch_lives_on_in_its_parts",),
        ("PRD-SPL-03",),
    ),
    "splits_give_more_time": Mutant(
        "gives the parts of a split batch the whole delivery.timeout.ms",
        (
            TRANSITIONS + "a_split_batch_lives_on_in_its_parts",
            EXPIRY + "a_split_is_no_retry_and_no_second_life",
        ),
        ("PRD-SPL-03",),
    ),
    "splits_expired_batches": Mutant(
        "splits a batch whose time is over", (EXPIRY + "an_expired_batch_is_not_split",), ("PRD-SPL-03",)
    ),
    "flush_forgets_parts": Mutant(
        "returns from flush() before the parts of a split batch have ended",
        (
            DELIVERY + "a_batch_too_large_goes_in_parts",
            DELIVERY + "futures_of_a_split_batch_wait_for_their_parts",
        ),
        ("PRD-SPL-06",),
    ),
    "forgets_split": Mutant(
        "makes batches as large as before when one had to be split",
        (DELIVERY + "batches_are_smaller_after_a_split", DELIVERY + "a_split_ends_the_hope_of_compression"),
        ("PRD-SPL-05",),
    ),
    "flush_returns_early": Mutant(
        "does not wait in flush() for what is in flight",
        (EXPIRY + "flush_waits_for_what_was_sent_before",),
        ("PRD-CLS-01",),
    ),
    "flush_lingers": Mutant(
        "lingers in flush()", (EXPIRY + "each_reason_makes_a_batch_sendable",), ("PRD-ACC-02",)
    ),
    "close_drops_buffered": Mutant(
        "drops what is buffered when it is closed",
        (DELIVERY + "a_closed_producer_stays_closed", EXPIRY + "close_without_limit_finishes_all"),
        ("PRD-CLS-03",),
    ),
    "close_forgets_callbacks": Mutant(
        "tells nobody of the records that close() gives up",
        (EXPIRY + "close_keeps_its_limit",),
        ("PRD-CLS-04",),
    ),
    "null_is_empty": Mutant(
        "stores an empty value where there is none",
        (DELIVERY + "what_was_sent_is_stored_and_told",),
        ("PRD-ISP-08",),
    ),
    "one_record_a_batch": Mutant(
        "opens a batch for every record, whatever room the last one has",
        (TRANSITIONS + "BatchesGoWhenTheyMayAndInOrder",),
        ("PRD-ACC-01",),
    ),
    "second_success_is_ignored": Mutant(
        "takes a second success of a batch without an error",
        (TRANSITIONS + "a_batch_takes_one_final_state",),
        ("PRD-FIN-03",),
    ),
    "expiry_says_nothing": Mutant(
        "fails expired batches without saying how many records, where and how long",
        (EXPIRY + "every_record_has_a_result_in_time",),
        ("PRD-EXP-02",),
    ),
    "leaderless_topic_is_not_asked_for": Mutant(
        "does not ask for the topic of batches that have no leader",
        (
            TRANSITIONS + "BatchesGoWhenTheyMayAndInOrder",
            EXPIRY + "a_leaderless_topic_is_asked_for_until_it_is_led",
        ),
        ("PRD-ACC-07",),
    ),
    "dates_records_from_1970": Mutant(
        "gives every record the timestamp 0", ("not-as-configured",), ("PRD-ISP-09",)
    ),
}
