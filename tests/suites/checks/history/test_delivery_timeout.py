"""Results that arrive later than the delivery timeout allows."""

from __future__ import annotations

from harness.plugins.check import Inconclusive, Unsupported
from suites.checks.history import delivery_timeout
from testkit.codes import raises_code
from tests.suites.story import LIMIT_MS


def answered(told, after_ms):
    told.call(0)
    told.result(0, at_ms=after_ms, outcome="info", error="TIMED_OUT")
    return told


def test_limit_includes_the_call_the_delivery_and_the_slack(story):
    assert delivery_timeout.CHECK.run(answered(story(), LIMIT_MS).evidence()) == []

    (finding,) = delivery_timeout.CHECK.run(answered(story(), LIMIT_MS + 1).evidence())
    assert finding.count == 1


def test_limit_follows_the_settings(story):
    config = {"delivery.timeout.ms": 4_000, "max.block.ms": 1_000}

    assert delivery_timeout.CHECK.run(answered(story(config=config), 10_000).evidence()) == []
    assert delivery_timeout.CHECK.run(answered(story(config=config), 10_001).evidence())


def test_stalled_client_is_not_accused(story):
    told = answered(story(), LIMIT_MS + 1)
    told.beat(0, *range(10_000, LIMIT_MS + 2, 1_000))

    with raises_code(Inconclusive, "client-stalled", stalled_ms=10000):
        delivery_timeout.CHECK.run(told.evidence())


def test_client_without_the_setting_is_not_judged(story):
    told = answered(story(not_set={"delivery.timeout.ms": "it counts retries"}), LIMIT_MS + 1)

    with raises_code(Unsupported, "setting-not-offered"):
        delivery_timeout.CHECK.run(told.evidence())
