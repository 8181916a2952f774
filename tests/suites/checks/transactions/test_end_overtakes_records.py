"""end-overtakes-records: an EndTxn that arrives before the answers to Produce requests, or before the requests."""

from __future__ import annotations

import pytest

from suites.checks.transactions.end_overtakes_records import CHECK
from tests.suites.checks.transactions.transaction_story import TransactionStory

[REQUIREMENT] = CHECK.requirements


@pytest.fixture
def told():
    """Return a story with a call to commit from 100 to 5,000, and a Produce request that arrives at 50."""
    story = TransactionStory(config={"request.timeout.ms": 1_000}, final_ms=9_000)
    story.transact(0, 1)
    story.step("commit_transaction", 100, 5_000)
    story.open(1, 0)
    story.request([0, 1], 0, 50)
    return story


def found(story):
    return {each.anomaly: each.count for each in CHECK.run(story.evidence())}


@pytest.mark.parametrize(("answer_ms", "expected"), [(199, {}), (201, {"end-overtakes-records": 1})])
def test_answer_before_and_after_the_end(told, answer_ms, expected):
    told.answer(0, 0, answer_ms)
    told.end_txn(200, 210)
    assert found(told) == expected
    assert REQUIREMENT.arises(told.evidence()) == 1


@pytest.mark.parametrize(("end_ms", "count"), [(1_000, 1), (1_060, 0)])
def test_request_is_given_up_after_its_timeout(told, end_ms, count):
    told.end_txn(end_ms, end_ms + 10)
    assert found(told).get("end-overtakes-records", 0) == count


@pytest.mark.parametrize(("closed_ms", "count"), [(300, 0), (2_000, 1)])
def test_request_is_given_up_with_its_connection(told, closed_ms, count):
    told.close(1, closed_ms)
    told.end_txn(400, 410)
    assert found(told).get("end-overtakes-records", 0) == count


def test_call_that_is_no_commit():
    story = TransactionStory(final_ms=9_000)
    story.transact(0, 1)
    story.step("abort_transaction", 100, 5_000)
    story.open(1, 0)
    story.request([0, 1], 0, 50)
    story.end_txn(200, 210)
    assert found(story) == {}
    assert REQUIREMENT.arises(story.evidence()) == 0


@pytest.mark.parametrize(("produce_ms", "count"), [(199, 0), (201, 1), (5_001, 0)])
def test_request_after_the_end(told, produce_ms, count):
    told.answer(0, 0, 60)
    told.end_txn(200, 210)
    told.request([0, 1], 0, produce_ms, conn=1)
    told.answer(0, 2, produce_ms if produce_ms < 200 else produce_ms + 1)
    assert found(told).get("produced-after-end", 0) == count


def test_request_that_a_fault_may_have_held_back(told):
    told.answer(0, 0, 60)
    told.end_txn(200, 210)
    told.request([0, 1], 0, 300)
    told.answer(0, 2, 301)
    told.fault("latency", 150, 350, upstream_ms=150, downstream_ms=0)
    assert found(told) == {}
