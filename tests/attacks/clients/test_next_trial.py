"""Connections of a hostile client are not attributed to the next client on the same lane."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.jvm

#: More connections than a producer opens without faults, and fewer than any attack opens.
MAX_CONNECTIONS = 20


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("opens_connections", "connections at a time"),
        ("leaves_requests", ""),
        ("goes_around", "'garbage'"),
        ("goes_around_as_the_witness", "a connection bypassed the lane, to broker 1"),
    ],
)
def test_connections_of_hostile_client_do_not_affect_next_trial(before_an_honest_one, name, reason):
    code, store = before_an_honest_one(name)

    first, second = store.verdicts()
    assert reason in first.reason and (code == 3) == (first.verdict == "harness-error") == bool(reason)
    assert second.verdict == "pass"
    frames = store.read_evidence(second.trial).frames
    assert len({frame.conn for frame in frames}) < MAX_CONNECTIONS
