"""The settings that a campaign may vary are those of Java's producer, with the same restrictions."""

from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clients.reference.config.producer_config import KEYS, ProducerConfig
from clients.reference.errors import ConfigException
from harness.model.errors import UsageError
from harness.planning.setting_values import accepted
from harness.provision.java import find_java
from harness.provision.kafka import kafka_jars
from harness.workloads.produce.profile import PROFILE
from harness.workloads.produce.settings import SETTINGS, refused

#: Not varied: identity, connection, security, and settings that only exist in one language.
NOT_VARIED = re.compile(
    r"bootstrap\.servers|client\.id|transaction.*|config\.providers|security\..*|(ssl|sasl)\..*"
    r"|.*\.(serializer|class|classes|reporters)|metric\.reporters"
)
RULED = {
    "acks": st.sampled_from(["all", "-1", "0", "1"]),
    "delivery.timeout.ms": st.integers(0, 4_000),
    "enable.idempotence": st.booleans(),
    "linger.ms": st.integers(0, 2_000),
    "max.in.flight.requests.per.connection": st.integers(1, 7),
    "request.timeout.ms": st.integers(0, 4_000),
    "retries": st.integers(0, 2),
}


@given(st.fixed_dictionaries(RULED))
@example({name: PROFILE.get(name, True) for name in RULED})
def test_a_combination_is_refused_if_the_reference_producer_refuses_it(settings):
    given = {"bootstrap.servers": "127.0.0.1:1", **PROFILE, **settings}
    try:
        ProducerConfig.from_mapping(given)
    except ConfigException:
        assert refused(given) is not None
    else:
        assert refused(given) is None


def values_of(name: str) -> list[object]:
    """Return values at both ends of the range of a setting."""
    match SETTINGS[name]:
        case None:
            return [True, False]
        case range() as numbers:
            return [numbers[0], numbers[-1]]
        case words:
            return [*words]


@pytest.mark.parametrize("name", [name for name in SETTINGS if name in KEYS])
def test_the_reference_producer_accepts_every_accepted_value(name):
    for value in values_of(name):
        assert accepted(name, value) == value
        KEYS[name].read(name, value)


@pytest.mark.parametrize("name", SETTINGS)
def test_values_out_of_range_are_refused(name):
    numbers = SETTINGS[name]
    beyond = [numbers[0] - 1, numbers[-1] + 1] if isinstance(numbers, range) else []
    for value in (*beyond, None, 1.5, [], {}, "", "nonsense"):
        with pytest.raises(UsageError) as refused:
            accepted(name, value)
        assert refused.value.params["name"] == name


@pytest.mark.jvm
def test_the_settings_match_those_of_kafka():
    """The table that Kafka's main program prints lists names, types and valid values."""
    jars = kafka_jars("4.3.1")
    program = [find_java().path, "-cp", jars.classpath, "org.apache.kafka.clients.producer.ProducerConfig"]
    page = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"<h4>.*?>([\w.]+)</a></h4>(.*?)</table>", page.replace("\n", ""))
    theirs = {name: dict(re.findall(r"<th>([^<:]+):</th><td>([^<]*)</td>", row)) for name, row in rows}
    assert {name for name in theirs if not NOT_VARIED.fullmatch(name)} == set(SETTINGS)
    for name, values in SETTINGS.items():
        valid = theirs[name]["Valid Values"]
        match theirs[name]["Type"], values:
            case ("boolean", None):
                pass
            case ("int" | "long", range()):
                low = re.search(r"\[(-?\d+),\.\.\.", valid)
                assert low is None or values[0] in (int(low[1]), -1)
            case ("string", tuple()):
                named = re.findall(r"[\w-]+", valid.split("[")[-1])
                assert sorted(word.lower() for word in named) == sorted(word.lower() for word in values)
            case told:
                pytest.fail(f"{name} is {told}")
