"""Idempotence: producer ids, epochs and sequence numbers: mutants of these parts."""

from __future__ import annotations

from collections.abc import Mapping

from clients.mutants.tables.row import DELIVERY, EXPIRY, TRANSITIONS, Mutant
from harness.model.verdicts import Guarantee

IDENTITY: Mapping[str, Mutant] = {
    "retries_with_new_sequence": Mutant(
        "gives a batch the next sequence numbers whenever it sends it again",
        (
            "duplicate",
            "sequence",
            "sequence-chain",
            TRANSITIONS + "EachRecordIsStoredOnceAndInOrder",
            DELIVERY + "idempotent",
            DELIVERY + "what_was_stored_and_refused_is_stored_once",
        ),
        ("PRD-IDM-03", "E2E-DEL-02"),
        scenario="produce/dropped-response",
        guarantee=Guarantee.IDEMPOTENT,
    ),
    "batch_without_sequence": Mutant(
        "sends every third batch without a producer id and sequence numbers",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder", "sequence", "producer-identity"),
        ("PRD-IDM-01",),
    ),
    "forgets_sequence_when_idle": Mutant(
        "begins at sequence 0 whenever a partition has nothing out",
        (DELIVERY + "a_forgotten_producer_goes_on", "sequence", "lost"),
        ("PRD-IDM-02",),
    ),
    "sequence_does_not_wrap": Mutant(
        "counts sequence numbers beyond 2147483647",
        (DELIVERY + "sequence_numbers_go_round",),
        ("PRD-IDM-02",),
    ),
    "retries_several_at_a_time": Mutant(
        "lets younger batches go while one goes again",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder", "sequence"),
        ("PRD-IDM-07",),
    ),
    "out_of_order_is_fatal": Mutant(
        "fails a batch that is refused as out of order",
        ("unmended", DELIVERY + "a_broken_chain_begins_anew"),
        ("PRD-IDM-09",),
    ),
    "all_partitions_follow_bump": Mutant(
        "begins every partition anew when one needs a higher epoch",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder",),
        ("PRD-IDM-10",),
    ),
    "passes_the_last_epoch": Mutant(
        "raises its epoch beyond the last one",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder",),
        ("PRD-IDM-11",),
    ),
    "bumps_with_batches_in_flight": Mutant(
        "raises the epoch while batches are on their way, which are sent again under new numbers",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder",),
        ("PRD-IDM-10",),
    ),
    "bumps_with_batches_in_doubt": Mutant(
        "gives a batch that may be stored a new identity, as Java does",
        (DELIVERY + "what_may_be_stored_keeps_its_numbers",),
        ("PRD-IDM-03",),
    ),
    "two_first_batches": Mutant(
        "sends the second batch of a chain before the first is acknowledged, as Java does",
        (DELIVERY + "the_first_of_a_chain_goes_alone",),
        ("PRD-IDM-07",),
    ),
    "reuses_sequence_after_expiry": Mutant(
        "gives the numbers of a batch that expired to other records",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder",),
        ("PRD-IDM-13",),
    ),
    "goes_on_behind_unknown_ends": Mutant(
        "sends new batches behind one whose fate is unknown",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder", EXPIRY + "unknown_sequences_are_settled_first"),
        ("PRD-EXP-06",),
    ),
    "numbers_at_expiry": Mutant(
        "uses up sequence numbers for batches that expire unsent",
        (EXPIRY + "what_was_never_sent_leaves_no_gap",),
        ("PRD-EXP-07",),
    ),
    "numbers_parts_anew": Mutant(
        "gives the parts of a split batch the next sequence numbers",
        (TRANSITIONS + "EachRecordIsStoredOnceAndInOrder",),
        ("PRD-SPL-04",),
    ),
    "gives_numbers_of_failed_batch_away": Mutant(
        "gives the sequence numbers of a batch that goes again to the next batch",
        ("sequence-reused",),
        ("PRD-IDM-13",),
        scenario="produce/dropped-response",
        guarantee=Guarantee.IDEMPOTENT,
    ),
    "new_identity_after_each_answer": Mutant(
        "raises its epoch after every acknowledgement", ("producer-identity",), ("PRD-IDM-01",)
    ),
    "more_than_five_out": Mutant(
        "has more than five batches of a partition out",
        (DELIVERY + "no_more_than_five_batches_are_out",),
        ("PRD-IDM-04",),
    ),
    "forgets_offset_of_repeated_batch": Mutant(
        "tells no offset for a batch that it had to send again",
        (
            TRANSITIONS + "EachRecordIsStoredOnceAndInOrder",
            DELIVERY + "what_was_stored_and_refused_is_stored_once",
        ),
        ("PRD-IDM-05",),
    ),
    "restarts_at_any_gap": Mutant(
        "restarts a partition at every refusal as out of order",
        (DELIVERY + "a_batch_refused_behind_others_goes_again_as_it_was",),
        ("PRD-IDM-08",),
    ),
    "unknown_producer_is_fatal": Mutant(
        "fails a batch whose producer the broker does not know",
        (DELIVERY + "an_unknown_producer_goes_again",),
        ("PRD-IDM-12",),
    ),
    "unknown_producer_keeps_numbers": Mutant(
        "never restarts the sequences of a producer that the broker does not know",
        (DELIVERY + "an_unknown_producer_goes_again",),
        ("PRD-IDM-12",),
    ),
    "new_epoch_goes_on": Mutant(
        "counts on from the old sequences under a new epoch",
        (
            DELIVERY + "a_broken_chain_begins_anew",
            DELIVERY + "a_new_epoch_begins_at_0_and_ends_the_old_one",
        ),
        ("PRD-IDM-14",),
    ),
    "begins_anew_after_idling": Mutant(
        "begins a partition at sequence 0 again after ten idle minutes",
        (DELIVERY + "a_forgotten_producer_goes_on",),
        ("PRD-IDM-15",),
    ),
    "old_numbers_for_resent_records": Mutant(
        "gives records that the application sends again their old sequence numbers",
        (DELIVERY + "what_the_application_repeats_is_a_new_record",),
        ("PRD-IDM-16",),
    ),
}
