"""The mapping from Java's setting names to librdkafka's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.adapters.confluent_kafka.settings import ABSENT, RENAMED, translate, unknown_property
from harness.model.verdicts import Guarantee
from harness.workloads.produce.profile import producer_config

NAMES = st.sampled_from(
    [*RENAMED, *ABSENT, "acks", "linger.ms", "retries", "client.id", "enable.idempotence"]
)


@given(st.dictionaries(NAMES, st.one_of(st.integers(1, 10**9), st.booleans())))
def test_every_setting_is_reported_once(config):
    applied, not_set = translate(config)
    assert sorted([*applied, *not_set]) == sorted(config)
    assert all(isinstance(value, str) for own in applied.values() for value in own.values())


def test_request_timeout_becomes_the_client_side_timeout():
    applied, _ = translate({"request.timeout.ms": 3_000})
    assert applied["request.timeout.ms"] == {"socket.timeout.ms": "3000", "request.timeout.ms": "3000"}


@pytest.mark.parametrize(("given_bytes", "kilobytes"), [(33_554_432, "32768"), (1_000, "1")])
def test_buffer_memory_becomes_kilobytes(given_bytes, kilobytes):
    applied, _ = translate({"buffer.memory": given_bytes})
    assert applied["buffer.memory"] == {"queue.buffering.max.kbytes": kilobytes}


def test_booleans_are_lower_case():
    applied, _ = translate({"enable.idempotence": True})
    assert applied["enable.idempotence"] == {"enable.idempotence": "true"}


def test_no_property_is_set_twice():
    applied, _ = translate(producer_config(Guarantee.IDEMPOTENT, {"compression.type": "lz4"}))
    own = [name for group in applied.values() for name in group]
    assert len(own) == len(set(own))


def test_unknown_librdkafka_property_is_recognized_by_its_error():
    said = 'No such configuration property: "retry.backoff.max.ms"'
    assert unknown_property(said) == "retry.backoff.max.ms"
    assert unknown_property('Invalid value for configuration property "request.required.acks"') is None
