"""Settings of a command line: their types, errors, name, conflicts and origins, and the command that repeats them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from harness.model.errors import UsageError
from harness.model.path_names import shortened
from harness.model.spec import ClientRef, Origin, TrialSpec
from harness.planning import selection
from harness.planning.plan import Axes, SettingsConflict, excluded, make_plan, with_settings
from harness.planning.run_command import run_command
from harness.planning.setting_warnings import drawn, known_before
from harness.planning.user_settings import MOST_CHARS, UserSettings, parsed
from harness.workloads.produce.settings import SETTINGS, WITHHELD

CLIENTS = [ClientRef("reference", "0.1.0"), ClientRef("confluent-kafka", "2.16.1")]
KAFKAJS = ClientRef("kafkajs", "2.2.4")


def trials(
    user: UserSettings, scenario: str = "produce/calm", clients: list[ClientRef] = CLIENTS
) -> tuple[TrialSpec, ...]:
    """Return the trials of one seed with these settings."""
    return make_plan(selection.scenarios([scenario], ()), clients, ["local:4.3.1x1"], [7], user).trials


def test_values_have_the_type_of_their_key():
    texts = ["linger.ms=20", "acks=1", "enable.metrics.push=true", "compression.zstd.level=-3"]
    assert parsed(texts, CLIENTS).java == {
        "linger.ms": 20,
        "acks": "1",
        "enable.metrics.push": True,
        "compression.zstd.level": -3,
    }


def test_a_setting_of_a_client_is_passed_on_unchanged():
    user = parsed(["confluent-kafka:socket.nagle.disable=a=b:c"], CLIENTS)
    assert user.own == {"confluent-kafka": {"socket.nagle.disable": "a=b:c"}}
    assert [spec.client_config for spec in trials(user)] == [{}, user.own["confluent-kafka"]] * 2


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("linger.mss=1", "unknown-name", "did you mean 'linger.ms'"),
        ("linger.ms=soon", "setting-value-refused", "linger.ms must be a whole number"),
        ("compression.type=rar", "setting-value-refused", "one of none, gzip"),
        ("linger.ms", "setting-form", "KEY=VALUE"),
        ("sasl.mechanism=PLAIN", "setting-withheld", "PLAINTEXT"),
        ("bootstrap.servers=a:1", "setting-withheld", "an address of its own"),
        ("confluent-kafak:a=1", "unknown-name", "did you mean 'confluent-kafka'"),
        ("java:a=1", "setting-of-absent-client", "not on trial here"),
        ("confluent-kafka:client.id=x", "own-setting-refused", "recognizes the client"),
        ("confluent-kafka:ssl.ca.location=x", "own-setting-refused", "PLAINTEXT"),
        ("confluent-kafka:message.timeout.ms=1", "own-setting-refused", "-X delivery.timeout.ms=VALUE"),
        ("confluent-kafka:socket.timeout.ms=1", "own-setting-refused", "-X request.timeout.ms=VALUE"),
        ("confluent-kafka:linger.ms=1", "own-setting-refused", "-X linger.ms=VALUE"),
        ("reference:anything=1", "own-setting-refused", "only Java's settings"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_with_its_cause(text, code, told):
    with pytest.raises(UsageError) as refused:
        parsed([text], CLIENTS)
    assert refused.value.code == code
    assert told in str(refused.value)


def test_all_errors_are_told_at_once():
    with pytest.raises(UsageError) as refused:
        parsed(["linger.mss=1", "acks=2", "retries=1"], CLIENTS)
    assert refused.value.code == "settings-refused"
    assert all(name in str(refused.value) for name in ("linger.mss", "acks"))


def test_a_setting_that_is_given_twice_is_refused():
    with pytest.raises(UsageError) as refused:
        parsed(["linger.ms=1", "linger.ms=2"], CLIENTS)
    assert refused.value.code == "setting-twice"


def test_the_name_of_a_configuration_depends_on_its_content_alone():
    one = parsed(["retries=3", "linger.ms=20"], CLIENTS)
    assert one.name == parsed(["linger.ms=20", "retries=3"], CLIENTS).name == "linger.ms=20,retries=3"
    assert {spec.variant for spec in trials(one)} == {one.name}


def test_a_long_name_is_shortened_and_stays_distinct():
    long = [f"confluent-kafka:{'x' * 80}={number}" for number in (1, 2)]
    names = {parsed([text], CLIENTS).name for text in long}
    assert len(names) == 2
    assert max(map(len, names)) <= MOST_CHARS
    assert shortened("short", MOST_CHARS) == "short"


def test_the_name_of_a_configuration_has_no_secret():
    user = parsed(["confluent-kafka:my.password=hunter22"], CLIENTS)
    assert "hunter22" not in user.name
    assert "hunter22" not in "".join(spec.trial for spec in trials(user))


def test_a_guarantee_that_conflicts_is_left_out_with_its_cause():
    user = parsed(["acks=1"], CLIENTS)
    axes = Axes(selection.scenarios(["produce/calm"], ()), CLIENTS, ["local:4.3.1x1"], user=user)
    assert {cell.guarantee for cell in axes.cells()} == {"at-least-once"}
    assert list(excluded(axes.left_out())) == ["produce/calm idempotent (idempotence needs acks=all, not 1)"]


def test_settings_that_leave_no_trial_are_an_error():
    with pytest.raises(SettingsConflict, match=r"delivery\.timeout\.ms"):
        trials(parsed(["delivery.timeout.ms=10"], CLIENTS))


def test_one_request_in_flight_conflicts_with_a_scenario_that_needs_several():
    scenario = next(each for each in selection.scenarios((), ()) if each.needs_in_flight > 1)
    with pytest.raises(SettingsConflict, match=r"max\.in\.flight"):
        trials(parsed(["max.in.flight.requests.per.connection=1"], CLIENTS), scenario.name)


def test_each_setting_has_its_origin():
    user = parsed(["linger.ms=5"], CLIENTS)
    origins = trials(user)[0].origins
    assert origins["linger.ms"] == Origin.USER
    assert origins["compression.type"] == Origin.SEED
    assert origins["enable.idempotence"] == Origin.GUARANTEE
    assert "batch.size" not in origins
    assert (
        trials(UserSettings(), "broker/paused-too-long")[0].origins["delivery.timeout.ms"] == Origin.SCENARIO
    )


def test_what_the_seed_draws_is_told_until_the_user_fixes_it():
    assert any(
        "compression.type" in each and "-X compression.type=" in each
        for each in drawn(trials(UserSettings()))
    )
    assert not list(drawn(trials(parsed(["compression.type=none"], CLIENTS))))


def test_what_a_client_is_known_not_to_apply_is_told_before_the_run():
    [warning] = known_before(trials(parsed(["linger.ms=20"], [KAFKAJS]), clients=[KAFKAJS]))
    assert warning == (
        "warning: kafkajs@2.2.4 does not get linger.ms: kafkajs sends the records of a send() at once, however many"
    )
    assert not list(known_before(trials(parsed(["retries=2"], [KAFKAJS]), clients=[KAFKAJS])))


def test_the_command_of_a_trial_gives_exactly_that_trial():
    user = parsed(["linger.ms=20", "confluent-kafka:socket.nagle.disable=true"], CLIENTS)
    spec = trials(user)[1]
    assert run_command(spec) == (
        "kafka-trial run produce/calm -c confluent-kafka@2.16.1 -b local:4.3.1x1 --seed 7 --guarantee at-least-once "
        "-X linger.ms=20 -X confluent-kafka:socket.nagle.disable=true"
    )


def test_a_trial_that_no_command_gives_has_none():
    spec = trials(UserSettings(), "produce/dropped-response")[0]
    assert run_command(spec) is not None
    # A shrunk trial has a name that no plan gives.
    assert run_command(with_settings(spec, parsed(["retries=1"], CLIENTS))) is None
    assert run_command(replace(spec, faults=())) is None
    assert run_command(replace(spec, attempt=2)) is None
    assert run_command(replace(spec, variant="slow")) is None


def test_every_setting_is_either_variable_or_withheld():
    assert not SETTINGS.keys() & WITHHELD.keys()
