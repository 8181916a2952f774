"""The producer's settings: each is refused or applied, and the rules between them hold, release by release."""

from __future__ import annotations

import logging
from typing import Any

from hypothesis import strategies as st

from clients.reference.config.producer_config import ProducerConfig, read_settings
from clients.reference.errors import ConfigException
from clients.reference.producer.producer import Components
from harness.model.errors import UsageError
from suites.properties import configuration_model as model
from suites.properties.property import client_property, example

RELEASE = st.sampled_from(model.RELEASES)
NEWEST = model.RELEASES[-1]
LOG = logging.getLogger("kafka-trial.reference")
ODD = st.sampled_from(["", "soon", "1e3", "0x10", "5 ms", 1.0, 2.5, True, False, None, (), [3], b"7"])


def around(low: int, high: int) -> st.SearchStrategy[Any]:
    """Draw whole numbers in the range, at its ends and beyond it, as numbers and as text."""
    numbers = st.integers(low, high) | st.sampled_from([low - 1, low, low + 1, high - 1, high, high + 1])
    return numbers | numbers.map(str) | numbers.map(lambda value: f" {value} ")


def config_kind(components: Components) -> type[ProducerConfig]:
    """Return the class that reads the settings of the client under test."""
    kind: type[ProducerConfig] = getattr(components, "config", ProducerConfig)
    return kind


def configure(components: Components, given: model.Settings, release: model.Release) -> ProducerConfig:
    """Return a configuration by the client under test."""
    return configure_and_listen(components, given, release)[0]


def configure_and_listen(
    components: Components, given: model.Settings, release: model.Release
) -> tuple[ProducerConfig, list[str]]:
    """Return the configuration, and what the client logged meanwhile."""
    settings = {"bootstrap.servers": "broker:9092"} | dict(given)
    ear = Ear()
    propagated, LOG.propagate = LOG.propagate, False
    LOG.addHandler(ear)
    try:
        return config_kind(components).from_mapping(settings, defaults_of=model.text_of(release)), ear.heard
    finally:
        LOG.removeHandler(ear)
        LOG.propagate = propagated


class Ear(logging.Handler):
    """A log handler that keeps the messages."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one message."""
        self.heard.append(record.getMessage())


def refused(components: Components, given: model.Settings, release: model.Release) -> str | None:
    """Return why settings are refused, or None if they are accepted."""
    try:
        configure(components, given, release)
    except ConfigException as refusal:
        return str(refusal)
    return None


IDEMPOTENCE: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "enable.idempotence": st.booleans(),
        "acks": st.sampled_from(model.CHOICES["acks"]),
        "retries": st.sampled_from([0, 1, 5, model.INT_MAX]),
        model.IN_FLIGHT: st.integers(1, 7) | st.just(model.INT_MAX),
    },
)


@client_property("CLI-CFG-01", given=IDEMPOTENCE, release=RELEASE)
@example(given={"acks": "1"}, release=NEWEST)
@example(given={"retries": 0}, release=NEWEST)
@example(given={model.IN_FLIGHT: 6}, release=NEWEST)
def idempotence_that_was_asked_for_refuses_what_breaks_it(
    components: Components, given: dict[str, Any], release: model.Release
) -> None:
    """With enable.idempotence=true, acks other than all, zero retries and more than five in flight are refused."""
    given = given | {"enable.idempotence": True}
    refusal = refused(components, given, release)
    if model.idempotence(given, release) is None:
        assert refusal, f"accepted: {given}"
        assert any(name in refusal for name in ("acks", "retries", model.IN_FLIGHT)), refusal
    else:
        assert refusal is None, f"{given} refused: {refusal}"
        assert configure(components, given, release).enable_idempotence


@client_property("CLI-CFG-02", given=IDEMPOTENCE, release=RELEASE)
def idempotence_by_default_gives_way(
    components: Components, given: dict[str, Any], release: model.Release
) -> None:
    """Contradictions switch default idempotence off and are logged. Too many in flight are refused since 4.0."""
    given = {name: value for name, value in given.items() if name != "enable.idempotence"}
    expected = model.idempotence(given, release)
    refusal = refused(components, given, release)
    assert (refusal is None) is (expected is not None), f"{given} in {release}: {refusal or 'accepted'}"
    if expected is not None:
        config, heard = configure_and_listen(components, given, release)
        assert config.enable_idempotence is expected, f"{given} in {release}"
        gave_way = release >= (3, 0) and not expected
        assert any("idempotence" in line for line in heard) is gave_way, f"{given} in {release}: {heard}"
        assert config.acks == model.acks(given, expected, release), f"{given} in {release}"


@client_property("CLI-CFG-02", release=RELEASE)
def defaults_are_those_of_the_release(components: Components, release: model.Release) -> None:
    """A setting that was not given has the default of the release."""
    config = configure(components, {}, release)
    for name, expected in model.defaults(release).items():
        assert getattr(config, name) == expected, f"{name} in {release}: {getattr(config, name)!r}"


@client_property(
    "CLI-CFG-03",
    idempotence=st.sampled_from([None, True, False]),
    contradiction=st.booleans(),
    release=RELEASE,
)
def transactions_need_idempotence(
    components: Components, idempotence: bool | None, contradiction: bool, release: model.Release
) -> None:
    """A transactional.id is refused for lack of idempotence exactly if the producer would not be idempotent."""
    given: dict[str, Any] = {} if idempotence is None else {"enable.idempotence": idempotence}
    given |= {"acks": "1"} if contradiction else {}
    given |= {"transactional.id": "t"}
    refusal = refused(components, given, release)
    is_default = idempotence is None and not (contradiction and release < (3, 0))
    if idempotence is False or (contradiction and is_default):
        assert "enable.idempotence" in (refusal or ""), f"{given} in {release}: {refusal}"
    elif not contradiction:
        assert not refusal, f"{given} in {release}: {refusal}"
        accepted = configure(components, given, release)
        assert (accepted.transactional_id, accepted.enable_idempotence) == ("t", True)


@client_property(
    "CLI-CFG-03",
    client_id=st.none() | st.text("abc-", max_size=4),
    transactional_id=st.none() | st.text("xyz", min_size=1, max_size=4),
    number=st.integers(1, 1_000),
    release=RELEASE,
)
def a_producer_has_a_name(
    components: Components,
    client_id: str | None,
    transactional_id: str | None,
    number: int,
    release: model.Release,
) -> None:
    """client.id is the given value, else made from the transactional.id, else from the producer's number."""
    given: dict[str, Any] = {"bootstrap.servers": "broker:9092"}
    given |= {} if client_id is None else {"client.id": client_id}
    defaults_of = model.text_of(release)
    config = config_kind(components).from_mapping(given, defaults_of=defaults_of, number=number)
    assert config.client_id == (f"producer-{number}" if client_id is None else client_id)
    if transactional_id is not None:
        named = read_settings(
            given | {"transactional.id": transactional_id}, defaults_of=defaults_of, number=number
        )
        assert named["client.id"] == (f"producer-{transactional_id}" if client_id is None else client_id)
        assert named["enable.idempotence"] is True


MILLIS = st.integers(0, 40_000) | st.sampled_from([120_000, 600_000, model.INT_MAX])


@client_property(
    "PRD-EXP-04",
    given=st.fixed_dictionaries(
        {},
        optional={"linger.ms": MILLIS, "request.timeout.ms": MILLIS, "delivery.timeout.ms": MILLIS},
    ),
    short_by_ms=st.none() | st.integers(-2, 2),
    release=RELEASE,
)
@example(given={"linger.ms": 10}, short_by_ms=1, release=NEWEST)
def a_delivery_timeout_covers_linger_and_one_request(
    components: Components, given: dict[str, Any], short_by_ms: int | None, release: model.Release
) -> None:
    """delivery.timeout.ms is at least linger.ms + request.timeout.ms: refused if given, raised if not."""
    if short_by_ms is not None:
        least = given.get("linger.ms", 0) + given.get("request.timeout.ms", 30_000)
        given = {"linger.ms": 0} | given
        given["delivery.timeout.ms"] = min(max(least - short_by_ms, 0), model.INT_MAX)
    expected = model.delivery_timeout_ms(given, release)
    refusal = refused(components, given, release)
    if expected is None:
        assert refusal and "delivery.timeout.ms" in refusal, f"{given} in {release}: {refusal or 'accepted'}"
    else:
        assert refusal is None, f"{given} in {release}: {refusal}"
        assert configure(components, given, release).delivery_timeout_ms == expected, f"{given} in {release}"


NUMBERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={name: st.integers(low - 1, high) for name, (low, high) in model.RANGES.items()}
)


@client_property(
    "CLI-CFG-01",
    "CLI-CFG-02",
    "CLI-CFG-07",
    "PRD-EXP-04",
    flags=IDEMPOTENCE,
    numbers=NUMBERS,
    release=RELEASE,
)
@example(flags={}, numbers={"linger.ms": -1}, release=NEWEST)
def a_combination_is_refused_by_a_rule_or_in_force(
    components: Components, flags: dict[str, Any], numbers: dict[str, Any], release: model.Release
) -> None:
    """Any combination of settings is refused as a whole exactly if a rule says so, and else applied."""
    given = numbers | flags
    out_of_range = [
        name for name in given.keys() & model.RANGES.keys() if model.number(name, given[name]) is None
    ]
    idempotent = model.idempotence(given, release)
    delivery_timeout_ms = model.delivery_timeout_ms(given, release)
    refusal = refused(components, given, release)
    if out_of_range or idempotent is None or delivery_timeout_ms is None:
        assert refusal, f"accepted: {given} in {release}"
        return
    assert refusal is None, f"{given} in {release}: {refusal}"
    config = configure(components, given, release)
    expected = given | {"enable.idempotence": idempotent, "delivery.timeout.ms": delivery_timeout_ms}
    expected["acks"] = model.acks(given, idempotent, release)
    for name, value in expected.items():
        assert getattr(config, name.replace(".", "_")) == value, f"{name} of {given} in {release}"


#: No value of one more setting breaks a rule between settings.
FREE = {"enable.idempotence": False, "linger.ms": 0, "request.timeout.ms": 0}


@client_property("CLI-CFG-07", name=st.sampled_from(sorted(model.RANGES)), data=st.data())
def a_number_is_in_its_range_or_refused(components: Components, name: str, data: st.DataObject) -> None:
    """A value that is not a whole number, or out of the setting's range, is refused by name. Others are applied."""
    value = data.draw(around(*model.RANGES[name]) | ODD, label=name)
    expected = model.number(name, value)
    refusal = refused(components, FREE | {name: value}, NEWEST)
    if expected is None:
        assert refusal and name in refusal, f"{name}={value!r}: {refusal or 'accepted'}"
    else:
        assert refusal is None, refusal
        config = configure(components, FREE | {name: value}, NEWEST)
        assert getattr(config, name.replace(".", "_")) == expected, f"{name}={value!r}"


@client_property(
    "CLI-CFG-07", name=st.sampled_from(model.FLAGS), value=st.booleans(), case=st.integers(0, 3), odd=ODD
)
def a_flag_is_true_or_false_or_refused(
    components: Components, name: str, value: bool, case: int, odd: Any
) -> None:
    """A flag accepts true and false, also as text in any case. All other values are refused by name."""
    written: Any = [value, str(value), str(value).lower(), str(value).upper()][case]
    config = configure(components, {name: written}, NEWEST)
    assert getattr(config, name.replace(".", "_")) is value
    if not isinstance(odd, bool):
        refusal = refused(components, {name: odd}, NEWEST)
        assert refusal and name in refusal, f"{name}={odd!r}: {refusal or 'accepted'}"


@client_property(
    "CLI-CFG-09",
    name=st.sampled_from(sorted(model.CHOICES)),
    odd=ODD | st.text(max_size=8),
    pick=st.integers(0, 4),
)
def a_choice_is_one_of_those_listed(components: Components, name: str, odd: Any, pick: int) -> None:
    """acks, like every setting with listed values, accepts these and refuses all others by name."""
    listed = model.CHOICES[name]
    assert refused(components, {name: listed[pick % len(listed)]}, NEWEST) is None
    if not isinstance(odd, str) or odd.lower() not in listed:
        refusal = refused(components, {name: odd}, NEWEST)
        assert refusal and name in refusal, f"{name}={odd!r}: {refusal or 'accepted'}"


HOST = st.sampled_from(["a", "b.example", "10.0.0.1", "[::1]"])
GOOD = st.builds("{}:{}".format, HOST, st.sampled_from([1, 9092, 65_535]))
BAD = st.sampled_from(["a", "a:", ":9092", "a:port", "a:65536", "a:-1", "9092:"])


@client_property(
    "CLI-CFG-07",
    good=st.lists(GOOD, max_size=4),
    bad=st.lists(BAD, max_size=1),
    as_text=st.booleans(),
    release=RELEASE,
)
def bootstrap_servers_are_read_or_refused(
    components: Components, good: list[str], bad: list[str], as_text: bool, release: model.Release
) -> None:
    """Entries are host and port. A bad entry refuses all, as does an empty list. Since 4.2, each counts once."""
    entries = [*good, *bad]
    servers: Any = ",".join(entries) if as_text else entries
    is_refused = bad or not good
    expected = list(dict.fromkeys(good)) if release >= (4, 2) else good
    try:
        config = config_kind(components).from_mapping(
            {"bootstrap.servers": servers}, defaults_of=model.text_of(release)
        )
    except ConfigException as refusal:
        assert is_refused, f"{servers!r} in {release}: {refusal}"
        return
    assert not is_refused, f"accepted in {release}: {servers!r}"
    read = [
        f"[{node.host}]:{node.port}" if ":" in node.host else f"{node.host}:{node.port}"
        for node in config.bootstrap
    ]
    assert read == expected
    assert len({node.id for node in config.bootstrap}) == len(expected) and all(
        node.id < 0 for node in config.bootstrap
    )


@client_property(
    "CLI-CFG-07",
    name=st.text("abcdefgh.", min_size=1, max_size=12).filter(lambda name: name not in model.RANGES),
)
def an_unknown_setting_is_not_passed_over(components: Components, name: str) -> None:
    """An unknown setting is refused by name, since it could only be a setting that was never applied."""
    try:
        configure(components, {name: 1}, NEWEST)
    except UsageError as refusal:
        assert name in str(refusal)
    else:
        raise AssertionError(f"accepted: {name}")
