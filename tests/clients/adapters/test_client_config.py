"""A client's own settings in the Python library: literals, and what is not applied."""

from __future__ import annotations

import msgspec
import pytest

from clients.adapters.python_lib.verifiable import java
from harness.model.contract import Configure, Configured
from harness.model.spec import ClientRef
from harness.planning import client_settings, selection
from harness.planning.client_settings import NOT_TAKEN
from harness.planning.plan import make_plan
from harness.planning.user_settings import parsed

REF = ClientRef("confluent-kafka", "2.16.1")


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("0.5", 0.5), ("true", True), ("None", None), ("text", "text"), ("(0, 1)", (0, 1))],
)
def test_a_value_is_the_literal_that_it_is(text, value):
    not_set: dict[str, str] = {}
    assert java.own_arguments({"a": text}, ["a"], {}, not_set) == {"a": value}
    assert not_set == {}


def test_what_the_harness_sets_and_what_is_unknown_are_not_applied():
    not_set: dict[str, str] = {}
    own = {"linger.ms": ("linger_ms", 5)}
    assert java.own_arguments({"linger_ms": "1", "other": "2"}, ["linger_ms"], own, not_set) == {}
    assert not_set == {"linger_ms": "the harness sets it", "other": "there is no such argument"}


def test_a_program_without_the_feature_gets_none_and_each_is_told():
    user = parsed(["linger.ms=1", "confluent-kafka:a=1"], [REF])
    [scenario] = selection.scenarios(["produce/calm"], ["idempotent"])
    [spec] = make_plan([scenario], [REF], ["local:4.3.1x1"], [1], user).trials
    assert client_settings.given(spec, ["producer"]) == {}
    assert client_settings.given(spec, ["producer", "client_config"]) == {"a": "1"}
    event = Configured(
        seq=0, mono_ns=0, wall_ns=0, id=1, applied={}, not_set={"linger.ms": "no", "acks": "no"}
    )
    lacking = client_settings.not_set(spec, {}, event)
    assert lacking == {"linger.ms": "no", "acks": "no", "confluent-kafka:a": NOT_TAKEN}
    assert client_settings.ignored(spec, lacking) == {"linger.ms": "no", "confluent-kafka:a": NOT_TAKEN}


def test_a_configure_without_own_settings_is_as_before():
    assert "client_config" not in msgspec.json.decode(
        msgspec.json.encode(Configure(1, "r", "p1", "producer", {}))
    )
