"""Sends that wait, memory, and the choice of partitions: mutants of these parts."""

from __future__ import annotations

from collections.abc import Mapping

from clients.mutants.tables.row import DELIVERY, EXPIRY, TRANSITIONS, Mutant

WAITING: Mapping[str, Mutant] = {
    "sends_what_gave_up": Mutant(
        "sends a record that gave up waiting for metadata when metadata comes",
        (EXPIRY + "an_answer_after_max_block_harms_nobody",),
        ("NET-TMO-06",),
    ),
    "asks_once_for_partition": Mutant(
        "asks once for a partition that does not exist yet",
        (EXPIRY + "a_partition_that_appears_is_found",),
        ("MET-12",),
    ),
    "refused_credentials_are_waited_out": Mutant(
        "lets sends wait where its credentials were refused",
        (
            EXPIRY + "refused_credentials_wake_who_waits",
            DELIVERY + "a_refused_authentication_is_told_and_backed_off",
        ),
        ("MET-16", "NET-CON-11"),
    ),
    "ignores_max_block": Mutant(
        "lets a send wait for metadata or memory as long as it takes",
        (EXPIRY + "no_send_waits_longer_for_metadata",),
        ("MET-11",),
    ),
    "max_block_for_each_wait": Mutant(
        "gives the wait for memory another whole max.block.ms",
        (EXPIRY + "one_limit_covers_both_waits",),
        ("MET-14",),
    ),
    "waits_for_invalid_topic": Mutant(
        "waits max.block.ms for topics that can never be had",
        (EXPIRY + "a_refused_topic_fails_at_once",),
        ("MET-13",),
    ),
    "close_leaves_sends_blocked": Mutant(
        "leaves sends blocked when it is closed", (EXPIRY + "close_releases_blocked_sends",), ("PRD-CLS-07",)
    ),
    "overtakes_in_line_for_memory": Mutant(
        "gives memory to whoever it suffices for, past those who wait longer",
        (TRANSITIONS + "MemoryIsLentInTurnAndReturnedOnce",),
        ("PRD-ACC-09",),
    ),
    "waits_in_line_for_nothing": Mutant(
        "wakes nobody when memory is returned",
        (TRANSITIONS + "MemoryIsLentInTurnAndReturnedOnce", EXPIRY + "memory_is_waited_for_in_turn"),
        ("PRD-ACC-09",),
    ),
    "returns_memory_twice": Mutant(
        "counts memory that is returned a second time",
        (TRANSITIONS + "MemoryIsLentInTurnAndReturnedOnce",),
        ("PRD-ACC-11",),
    ),
    "leaks_memory_of_expired_batches": Mutant(
        "never frees the memory of batches that end badly",
        (TRANSITIONS + "BatchesGoWhenTheyMayAndInOrder", TRANSITIONS + "EachRecordIsStoredOnceAndInOrder"),
        ("PRD-ACC-11",),
    ),
    "hashes_without_mask": Mutant(
        "drops the sign of a key's hash instead of masking it",
        (DELIVERY + "a_key_has_the_partition_that_java_gives_it",),
        ("PRD-ISP-06",),
    ),
    "wrong_hash_seed": Mutant(
        "hashes keys from another seed than Java's",
        (DELIVERY + "a_key_has_the_partition_that_java_gives_it",),
        ("PRD-ISP-06",),
    ),
    "empty_key_is_no_key": Mutant(
        "takes an empty key for none",
        (DELIVERY + "a_key_has_the_partition_that_java_gives_it",),
        ("PRD-ISP-06",),
    ),
    "never_leaves_partition": Mutant(
        "sends all records without a key to the partition that was chosen first",
        (DELIVERY + "keyless_records_fill_a_batch_before_they_move",),
        ("PRD-ISP-07",),
    ),
    "round_robin": Mutant(
        "changes the partition with every record without a key",
        (DELIVERY + "keyless_records_fill_a_batch_before_they_move",),
        ("PRD-ISP-07",),
    ),
    "keys_wander": Mutant(
        "puts the records of a key into another partition after a while",
        ("partition-moved",),
        ("PRD-ISP-06",),
    ),
}
