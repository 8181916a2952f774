"""A record that expired behind others waited in a queue; one that others overtook did not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as changed

from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from suites.analysis.backlog import was_queued
from suites.analysis.homes import home
from tests.suites.perturbations.test_loads import LOADS, trial

RECENT_NS = 1_000 * NS_PER_MS


@pytest.fixture(scope="module")
def evidence():
    return trial(LOADS["topics"])


def expired(send, at_ns):
    return changed(send, outcome=Outcome.FAIL, complete_ns=at_ns, error="TimeoutException")


def last_of_its_partition(evidence):
    sends = list(evidence.operations.values())
    partition = home(evidence, sends[-1])
    return [send for send in sends if home(evidence, send) == partition]


def test_a_record_behind_delivered_ones_was_queued(evidence):
    sends = last_of_its_partition(evidence)
    ended_ns = max(send.complete_ns for send in sends) + NS_PER_MS
    assert was_queued(evidence, expired(sends[-1], ended_ns), RECENT_NS)


def test_a_record_that_others_overtook_was_not_queued(evidence):
    sends = last_of_its_partition(evidence)
    ended_ns = max(send.complete_ns for send in sends) + NS_PER_MS
    assert not was_queued(evidence, expired(sends[0], ended_ns), RECENT_NS)


def test_a_record_was_not_queued_if_nothing_was_delivered_lately(evidence):
    sends = last_of_its_partition(evidence)
    ended_ns = max(send.complete_ns for send in sends) + 2 * RECENT_NS
    assert not was_queued(evidence, expired(sends[-1], ended_ns), RECENT_NS)
