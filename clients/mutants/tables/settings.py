"""Settings: mutants of these parts."""

from __future__ import annotations

from collections.abc import Mapping

from clients.mutants.tables.row import TRANSITIONS, Mutant

SETTINGS: Mapping[str, Mutant] = {
    "accepts_conflicting_config": Mutant(
        "takes acks that contradict the idempotence that was asked for",
        (TRANSITIONS + "idempotence_that_was_asked_for_refuses_what_breaks_it",),
        ("CLI-CFG-01",),
    ),
    "replaces_bad_settings": Mutant(
        "leaves out a setting that is refused, without a word",
        (
            TRANSITIONS + "a_choice_is_one_of_those_listed",
            TRANSITIONS + "a_flag_is_true_or_false_or_refused",
            TRANSITIONS + "a_number_is_in_its_range_or_refused",
            TRANSITIONS + "an_unknown_setting_is_not_passed_over",
            TRANSITIONS + "bootstrap_servers_are_read_or_refused",
            TRANSITIONS + "a_combination_is_refused_by_a_rule_or_in_force",
        ),
        ("CLI-CFG-07", "CLI-CFG-09"),
    ),
    "nameless_client": Mutant(
        "leaves client.id empty where it was not set",
        (TRANSITIONS + "a_producer_has_a_name",),
        ("CLI-CFG-03",),
    ),
    "old_defaults": Mutant(
        "has the defaults of Kafka 2.0 for what is not set",
        (TRANSITIONS + "defaults_are_those_of_the_release",),
        ("CLI-CFG-02",),
    ),
    "idempotence_never_gives_way": Mutant(
        "refuses acks=1 where idempotence is only the default",
        (TRANSITIONS + "idempotence_by_default_gives_way",),
        ("CLI-CFG-02",),
    ),
    "transactions_without_idempotence": Mutant(
        "takes a transactional.id and ignores it",
        (TRANSITIONS + "transactions_need_idempotence",),
        ("CLI-CFG-03",),
    ),
    "short_delivery_timeout": Mutant(
        "takes a delivery.timeout.ms that is shorter than one request",
        (TRANSITIONS + "a_delivery_timeout_covers_linger_and_one_request",),
        ("PRD-EXP-04",),
    ),
    "slow_heartbeat": Mutant(
        "passes over a heartbeat.interval.ms that is as long as the session",
        (TRANSITIONS + "a_heartbeat_is_more_frequent_than_sessions_end",),
        ("CLI-CFG-04",),
    ),
    "commits_without_group": Mutant(
        "passes over auto-commit that was asked for without a group",
        (TRANSITIONS + "without_a_group_nothing_is_committed",),
        ("CLI-CFG-05",),
    ),
    "mixes_group_protocols": Mutant(
        "passes over settings that its group.protocol does not have",
        (TRANSITIONS + "a_protocol_refuses_the_settings_of_the_other",),
        ("CLI-CFG-06",),
    ),
    "any_isolation_level": Mutant(
        "passes over an isolation.level that is not listed",
        (TRANSITIONS + "isolation_and_reset_take_their_listed_values",),
        ("CLI-CFG-09",),
    ),
}
