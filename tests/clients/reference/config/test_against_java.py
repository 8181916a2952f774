"""Every setting and its values, compared with Java's ProducerConfig and ConsumerConfig (CLI-CFG-07, -09)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clients.reference.config import consumer_config, producer_config
from clients.reference.config.absent_keys import CONSUMER_ABSENT, PRODUCER_ABSENT
from clients.reference.config.config_keys import Key
from clients.reference.errors import ConfigException
from harness.wire.records import Codec
from testkit import java_config

pytestmark = pytest.mark.jvm

Answer = Mapping[str, Any]
KEYS: Mapping[str, Mapping[str, Key]] = {"producer": producer_config.KEYS, "consumer": consumer_config.KEYS}
ABSENT = {"producer": PRODUCER_ABSENT, "consumer": CONSUMER_ABSENT}
COUNT = {"producer": 113, "consumer": 116}
OURS = {"producer": {"bootstrap.servers": "b:1"}, "consumer": {"bootstrap.servers": "b:1", "group.id": "g"}}
BYTES = "org.apache.kafka.common.serialization.ByteArray"
JAVAS = {
    role: {**OURS[role], **{f"{what}.{kind}": f"{BYTES}{kind.capitalize()}" for what in ("key", "value")}}
    for role, kind in (("producer", "serializer"), ("consumer", "deserializer"))
}
#: Not compared: plug-ins, which are classes of another language, and bootstrap.servers, which Java reads later.
NOT_VARIED = {name for keys in KEYS.values() for name, key in keys.items() if key.names_plug_ins} | {
    "bootstrap.servers"
}
#: Rules between settings that Java checks after this point, when it creates the client.
CHECKED_LATER = {"delivery-timeout-too-short", "heartbeat-interval-too-long"}
#: A valid value in Java that the reference client refuses with the reason.
REFUSED_WITH_REASON = {"config-not-supported", "jaas-config-missing", "transactions-not-supported"}
CASES = [(role, name) for role, keys in KEYS.items() for name in sorted(set(keys) - NOT_VARIED)]


class Java:
    """Kafka's own configuration classes, in a process of their own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def asked(self, role: str, **question: Any) -> Answer:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"role": role, **question}) + "\n")
        self._process.stdin.flush()
        answer: Answer = json.loads(self._process.stdout.readline())
        return answer


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    command = java_config.argv()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Java(process)
        assert process.stdin
        process.stdin.close()


def ours(role: str, name: str, value: Any, **more: Any) -> Answer:
    """Return what this client makes of one value, in the form of Java's answers."""
    given_ = {**OURS[role], name: value, **more}
    try:
        if role == "producer":
            read: Any = producer_config.read_settings(given_)[name]
        else:
            read = consumer_config.ConsumerConfig.from_mapping(given_).values[name]
    except ConfigException as refusal:
        return {"refused": refusal.code}
    if isinstance(read, Codec):
        read = read.name.lower()
    return {"value": list(read) if isinstance(read, tuple) else read}


def same(name: str, left: Any, right: Any) -> bool:
    """Return whether two values mean the same. Java keeps the case of some, and acks as text."""
    if name == "acks":
        return str(left) == str(right)
    if name in ("metadata.recovery.strategy", "security.protocol", "group.protocol"):
        return str(left).lower() == str(right).lower()
    return bool(left == right)


def compare(java: Java, role: str, name: str, value: Any, **more: Any) -> None:
    """Fail unless both sides accept the value and read the same from it, or both refuse it."""
    theirs = java.asked(role, settings={**JAVAS[role], name: value, **more}, key=name)
    mine = ours(role, name, value, **more)
    if "refused" in mine:
        if mine["refused"] in CHECKED_LATER | REFUSED_WITH_REASON:
            return
        # Java accepts a null for a setting without a rule, and fails with a NullPointerException when it needs it.
        assert "refused" in theirs or value is None, (theirs, mine)
    elif "refused" in theirs:
        assert name == "acks" and value in (-1, 0, 1), (theirs, mine)  # this client takes numbers, too
    elif not str(theirs["value"]).startswith("consumer-g-"):  # generated, with a number
        assert same(name, theirs["value"], mine["value"]), (theirs, mine)


@pytest.mark.parametrize("role", COUNT)
def test_each_setting_of_java_is_implemented_or_refused_by_name(java, role):
    names = set(java.asked(role)["keys"])
    assert len(names) == COUNT[role]
    assert names == set(KEYS[role]) | set(ABSENT[role])
    assert not set(KEYS[role]) & set(ABSENT[role])
    for name, reason in ABSENT[role].items():
        assert ours(role, name, "x") == {"refused": "config-not-settable"}
        assert reason


@pytest.mark.parametrize("role", COUNT)
def test_defaults_are_javas(java, role):
    other = {"acks", "client.id", "sasl.mechanism", "metric.reporters", "enable.auto.commit", "group.id"}
    for name, key in KEYS[role].items():
        if (
            name not in other | {"bootstrap.servers", "partition.assignment.strategy"}
            and "serial" not in name
        ):
            default = java.asked(role, settings=JAVAS[role], key=name)["value"]
            assert default == (list(key.default) if isinstance(key.default, tuple) else key.default), name


NUMBERS = st.sampled_from([0, 1, 4_999, 5_000, 2**31, 2**63]).flatmap(
    lambda near: st.integers(near - 2, near + 2).flatmap(lambda number: st.sampled_from([number, -number]))
)
SPACES = st.text(" \t\n\x00\x1f\xa0\u2003", max_size=2)
WORDS = st.sampled_from(
    [
        *("all", "none", "NONE", "rebootstrap", "gzip", "ZSTD", "classic", "Consumer", "latest", "LATEST"),
        *(
            "earliest",
            "read_committed",
            "READ_COMMITTED",
            "PLAINTEXT",
            "sasl_plaintext",
            "ssl",
            "true",
            "FALSE",
        ),
        *(
            "use_all_dns_ips",
            "resolve_canonical_bootstrap_servers_only",
            "yes",
            "range",
            "1_000",
            "+5",
            "--5",
        ),
        *("5L", "0x5", "٣", "𝟎", "\uff15", "1.5", "1e3", "a,b", "a,,b", "a,a", ".", "..", "a.b"),
    ]
)
DURATIONS = st.from_regex(
    r"by_duration:[-+]?[Pp]([-+]?\d{1,20}[Dd])?([Tt]([-+]?\d{1,3}H)?([-+]?\d{1,3}M)?([-+]?\d{1,20}([.,]\d{0,10})?[Ss])?)?",
    fullmatch=True,
)
TEXTS = st.one_of(WORDS, NUMBERS.map(str), st.text(max_size=6), st.text("a.b_-A", max_size=3))
VALUES = st.one_of(
    st.tuples(SPACES, TEXTS, SPACES).map("".join),
    NUMBERS.filter(lambda number: -(2**63) <= number < 2**63),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.none(),
)


@pytest.mark.parametrize(("role", "name"), CASES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=VALUES)
@example(value="")
@example(value=" 5 ")
@example(value=":")
def test_a_value_is_read_as_java_reads_it(java, role, name, value):
    """CLI-CFG-07, -09."""
    compare(java, role, name, value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.one_of(DURATIONS, st.text("PTpt+-.,0123456789dhmsDHMS", max_size=12).map("by_duration:".__add__)))
@example("by_duration:-PT-1S")
@example("by_duration:PT1,5S")
@example("by_duration:PT-0.5S")
@example("by_duration:P0Dt")
@example("by_duration:P0DT")
@example("by_duration:P106751991167301D")
@example("by_duration:PT9223372036854775807S")
def test_a_duration_is_read_as_java_reads_it(java, strategy):
    """CLI-CFG-09, KIP-1106."""
    compare(java, "consumer", "auto.offset.reset", strategy)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from(["interceptor.classes", "metric.reporters"]),
    st.one_of(
        st.lists(st.sampled_from(["a", "b", "a ", "\tb", ""]), max_size=4).map(" ,\t".join),
        st.lists(st.sampled_from(["a", "b", "", " a"]), max_size=3).filter(lambda listed: " a" not in listed),
    ),
)
@example("interceptor.classes", "a , b,a")
def test_a_list_is_read_as_java_reads_it(java, name, value):
    """CLI-CFG-07, KIP-1161."""
    compare(java, "producer", name, value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from([name for names in consumer_config.FORBIDDEN.values() for name in names]),
    st.sampled_from(["classic", "consumer"]),
    st.sampled_from(["range", "", " ", None, [], ["range"], "44000", 44_000]),
)
def test_each_group_protocol_forbids_what_java_forbids(java, name, protocol, value):
    """CLI-CFG-06."""
    compare(java, "consumer", name, value, **{"group.protocol": protocol})
