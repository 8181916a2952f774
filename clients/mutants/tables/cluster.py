"""Metadata: what is believed, forgotten and asked: mutants of these parts."""

from __future__ import annotations

from collections.abc import Mapping

from clients.mutants.tables.row import DELIVERY, EXPIRY, TRANSITIONS, Mutant

CLUSTER: Mapping[str, Mutant] = {
    "loss_is_no_news": Mutant(
        "does not ask for metadata when a connection is lost",
        (EXPIRY + "a_lost_connection_makes_metadata_stale",),
        ("NET-TMO-05",),
    ),
    "leaderless_batches_never_expire": Mutant(
        "lets batches wait for ever where nobody leads their partition",
        (EXPIRY + "a_batch_without_a_leader_waits_and_ages",),
        ("PRD-ACC-07",),
    ),
    "metadata_storm": Mutant(
        "asks again at once where an answer told nothing new",
        (
            TRANSITIONS + "NewsOfTheClusterIsBelievedWhenItIsNewer",
            EXPIRY + "answers_that_tell_nothing_new_are_spaced",
        ),
        ("MET-03",),
    ),
    "asks_metadata_without_pause": Mutant(
        "repeats a Metadata request that failed without a backoff",
        (TRANSITIONS + "NewsOfTheClusterIsBelievedWhenItIsNewer", EXPIRY + "failed_questions_are_spaced"),
        ("MET-02",),
    ),
    "believes_older_leaders": Mutant(
        "believes the last Metadata answer, also one with an older leader epoch",
        (TRANSITIONS + "NewsOfTheClusterIsBelievedWhenItIsNewer",),
        ("MET-04",),
    ),
    "keeps_epochs_of_deleted_topics": Mutant(
        "measures a topic that was created anew by the old one's leader epochs",
        (TRANSITIONS + "NewsOfTheClusterIsBelievedWhenItIsNewer",),
        ("MET-05",),
    ),
    "wipes_on_empty_answer": Mutant(
        "forgets everything at a Metadata answer without brokers",
        (DELIVERY + "an_answer_without_brokers_forgets_nothing",),
        ("MET-06",),
    ),
    "serves_new_topics_with_old_answers": Mutant(
        "takes an answer to an older question for the answer about a new topic",
        (DELIVERY + "an_older_answer_is_none_about_a_newer_topic",),
        ("MET-07",),
    ),
    "no_refresh_on_not_leader": Mutant(
        "does not ask for metadata when a broker is not the leader any more",
        (DELIVERY + "a_leader_error_asks_for_metadata", EXPIRY + "a_wrong_leader_is_looked_up_at_once"),
        ("MET-08", "PRD-SND-10"),
    ),
    "adopts_older_leader": Mutant(
        "adopts a leader from a refusal even if a newer one is known",
        (TRANSITIONS + "NewsOfTheClusterIsBelievedWhenItIsNewer",),
        ("MET-09",),
    ),
    "ignores_named_leader": Mutant(
        "does not go to the new leader that a refusal names",
        (
            TRANSITIONS + "NewsOfTheClusterIsBelievedWhenItIsNewer",
            DELIVERY + "a_named_leader_is_followed_at_once",
        ),
        ("MET-09",),
    ),
    "never_forgets_topics": Mutant(
        "asks for every topic that it ever used",
        (
            TRANSITIONS + "NewsOfTheClusterIsBelievedWhenItIsNewer",
            EXPIRY + "a_topic_that_nobody_uses_is_forgotten",
        ),
        ("MET-10",),
    ),
    "never_refreshes_metadata": Mutant(
        "never finds its metadata too old", (EXPIRY + "metadata_never_gets_too_old",), ("MET-01",)
    ),
    "floods_with_metadata_requests": Mutant(
        "asks for metadata again as soon as it has some", ("metadata-storm",), ("MET-03",)
    ),
}
