"""The properties of configuration detect each client that reads its settings with one mistake."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from suites.properties.property import Property, properties, try_property

EXAMPLES = 300


def named(name: str) -> Property:
    return properties()[f"state_transitions/{name}"]


def reading(change: Any) -> Any:
    """Return a client whose settings go through ``change(settings, release)`` before they are read."""

    def from_mapping(
        settings: dict[str, Any], *, defaults_of: str = "4.3", number: int = 1
    ) -> ProducerConfig:
        settings, release = change(dict(settings), defaults_of)
        return ProducerConfig.from_mapping(settings, defaults_of=release, number=number)

    return SimpleNamespace(config=SimpleNamespace(from_mapping=from_mapping))


def forgets_that_it_was_asked(settings, release):
    if settings.get("enable.idempotence") is True:
        del settings["enable.idempotence"]
    return settings, "3.9"


def takes_six_in_flight(settings, release):
    name = "max.in.flight.requests.per.connection"
    return settings | ({name: 5} if settings.get(name) == 6 else {}), release


def has_the_newest_rules_only(settings, release):
    return settings, "4.3"


def has_the_old_linger(settings, release):
    return {"linger.ms": 0} | settings, release


def raises_a_short_delivery_timeout(settings, release):
    least = settings.get("linger.ms", 0) + settings.get("request.timeout.ms", 30_000)
    if "delivery.timeout.ms" in settings:
        settings["delivery.timeout.ms"] = min(max(settings["delivery.timeout.ms"], least), 2**31 - 1)
    return settings, release


def forgets_transactions(settings, release):
    settings.pop("transactional.id", None)
    return settings, release


def clamps_numbers(settings, release):
    given = {name: max(v, 1) if isinstance(v, int) and v < 0 else v for name, v in settings.items()}
    return given, release


def takes_yes_for_true(settings, release):
    return {name: True if value == "soon" else value for name, value in settings.items()}, release


def takes_any_acks(settings, release):
    if str(settings.get("acks", "all")) not in ("all", "-1", "0", "1"):
        settings["acks"] = "all"
    return settings, release


def passes_over_the_unknown(settings, release):
    return {
        name: v for name, v in settings.items() if "." in name[1:-1] or name in ("acks", "retries")
    }, release


def has_one_name_for_all(settings, release):
    return {"client.id": "producer-1"} | settings, release


def drops_bad_servers(settings, release):
    servers = settings["bootstrap.servers"]
    entries = servers.split(",") if isinstance(servers, str) else servers
    return settings | {"bootstrap.servers": [e for e in entries if e[-1:].isdecimal()]}, release


@pytest.mark.parametrize(
    ("prop", "mistake"),
    [
        ("idempotence_that_was_asked_for_refuses_what_breaks_it", forgets_that_it_was_asked),
        ("idempotence_that_was_asked_for_refuses_what_breaks_it", takes_six_in_flight),
        ("idempotence_by_default_gives_way", has_the_newest_rules_only),
        ("idempotence_by_default_gives_way", takes_six_in_flight),
        ("defaults_are_those_of_the_release", has_the_newest_rules_only),
        ("defaults_are_those_of_the_release", has_the_old_linger),
        ("a_delivery_timeout_covers_linger_and_one_request", raises_a_short_delivery_timeout),
        ("a_combination_is_refused_by_a_rule_or_in_force", has_the_newest_rules_only),
        ("a_combination_is_refused_by_a_rule_or_in_force", raises_a_short_delivery_timeout),
        ("transactions_need_idempotence", forgets_transactions),
        ("a_producer_has_a_name", has_one_name_for_all),
        ("a_number_is_in_its_range_or_refused", clamps_numbers),
        ("a_flag_is_true_or_false_or_refused", takes_yes_for_true),
        ("a_choice_is_one_of_those_listed", takes_any_acks),
        ("an_unknown_setting_is_not_passed_over", passes_over_the_unknown),
        ("bootstrap_servers_are_read_or_refused", drops_bad_servers),
        ("bootstrap_servers_are_read_or_refused", has_the_newest_rules_only),
    ],
)
def test_mistake_is_found(prop, mistake):
    broken = try_property(named(prop), reading(mistake), EXAMPLES)
    assert broken is not None
    assert isinstance(broken.error, AssertionError), broken.error


def reading_for_a_consumer(change: Any) -> Any:
    """Return the same for the consumer's settings."""

    def from_mapping(settings: dict[str, Any], *, defaults_of: str = "4.3") -> ConsumerConfig:
        settings, release = change(dict(settings), defaults_of)
        return ConsumerConfig.from_mapping(settings, defaults_of=release)

    return SimpleNamespace(consumer_config=SimpleNamespace(from_mapping=from_mapping))


def shortens_a_long_heartbeat(settings, release):
    session_ms = settings.get("session.timeout.ms", 45_000)
    if settings.get("heartbeat.interval.ms", 3_000) >= session_ms > 0:
        settings["heartbeat.interval.ms"] = session_ms - 1
    return settings, release


def has_a_group_for_everyone(settings, release):
    return {"group.id": "default"} | settings, release


def drops_what_the_protocol_has_not(settings, release):
    settings.pop("group.remote.assignor", None)
    return settings, release


def reads_every_duration(settings, release):
    if str(settings.get("auto.offset.reset")).startswith("by_duration:"):
        settings["auto.offset.reset"] = "by_duration:P1D"
    return settings, release


@pytest.mark.parametrize(
    ("prop", "mistake"),
    [
        ("a_heartbeat_is_more_frequent_than_sessions_end", shortens_a_long_heartbeat),
        ("a_heartbeat_is_more_frequent_than_sessions_end", has_the_newest_rules_only),
        ("without_a_group_nothing_is_committed", has_a_group_for_everyone),
        ("a_protocol_refuses_the_settings_of_the_other", drops_what_the_protocol_has_not),
        ("isolation_and_reset_take_their_listed_values", reads_every_duration),
        ("isolation_and_reset_take_their_listed_values", has_the_newest_rules_only),
    ],
)
def test_consumer_mistake_is_found(prop, mistake):
    broken = try_property(named(prop), reading_for_a_consumer(mistake), EXAMPLES)
    assert broken is not None
    assert isinstance(broken.error, AssertionError), broken.error


MINE = [
    id for id, prop in properties().items() if prop.hold and prop.hold.__module__.endswith("configuration")
]


@pytest.mark.long("tries properties until they catch a mutant")
@pytest.mark.parametrize("name", MINE)
def test_reference_client_keeps_the_properties(name):
    assert try_property(properties()[name], Components(), EXAMPLES) is None
