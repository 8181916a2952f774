"""What readers see of transactions, compared with what the client reported and with what it was asked for."""

from __future__ import annotations

import pytest

from suites.checks.transactions import abort_undone, commit_lost, torn_transaction, visible_twice
from tests.suites.checks.transactions.transaction_story import TransactionStory, aborting

CHECKS = (abort_undone, commit_lost, torn_transaction, visible_twice)


@pytest.fixture
def told():
    """Return a story with a committed transaction in two partitions."""
    story = TransactionStory()
    story.transact(0, 1)
    story.stored(0)
    story.stored(1, partition=1)
    story.mark(0)
    story.mark(1)
    return story


def found(story):
    """Return code -> count of all findings."""
    evidence = story.evidence()
    return {each.anomaly: each.count for check in CHECKS for each in check.run(evidence)}


def arises(story):
    return [check.CHECK.requirements[0].arises(story.evidence()) for check in CHECKS]


def test_committed_transaction(told):
    assert found(told) == {}
    assert arises(told) == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("asked", "outcome", "expected"),
    [
        ("commit", "ok", {"commit-aborted": 2}),
        ("commit", "fail", {}),
        ("commit", "info", {}),
        ("abort", "ok", {}),
        ("abort", "fail", {"commit-aborted": 2}),
        ("abort", "info", {}),
    ],
)
def test_aborted_transaction(monkeypatch, asked, outcome, expected):
    aborting(monkeypatch, *([0] if asked == "abort" else []))
    story = TransactionStory()
    story.transact(0, 1, outcome=outcome)
    story.stored(0, 1)
    story.mark(0, "ABORT")
    assert found(story) == expected


@pytest.mark.parametrize(
    ("asked", "outcome", "expected"),
    [
        ("commit", "fail", {"abort-undone": 2}),
        ("abort", "ok", {"abort-undone": 2}),
        ("abort", "info", {}),
        ("commit", "info", {}),
    ],
)
def test_visible_transaction(monkeypatch, asked, outcome, expected):
    aborting(monkeypatch, *([0] if asked == "abort" else []))
    story = TransactionStory()
    story.transact(0, 1, outcome=outcome)
    story.stored(0, 1)
    story.mark(0)
    assert found(story) == expected


def test_committed_records_that_are_nowhere():
    story = TransactionStory()
    story.transact(0, 1)
    assert found(story) == {"commit-lost": 2}


@pytest.mark.parametrize("outcome", ["ok", "fail", "info"])
def test_torn_transaction(outcome):
    story = TransactionStory()
    story.transact(0, 1, outcome=outcome)
    story.stored(0)
    story.stored(1, partition=1)
    story.mark(0)
    story.mark(1, "ABORT")
    assert found(story)["torn-transaction"] == 1


def test_record_that_was_never_stored_tears_its_transaction():
    story = TransactionStory()
    story.transact(0, 1, outcome="info")
    story.stored(0)
    story.mark(0)
    assert found(story) == {"torn-transaction": 1}


def test_open_transactions_are_neither_lost_nor_torn():
    story = TransactionStory()
    story.transact(0, 1)
    story.stored(0)
    story.stored(1, partition=1)
    story.mark(0)
    assert found(story) == {}


def test_second_copy(told):
    told.stored(0)
    assert found(told) == {}
    told.mark(0, "ABORT")
    assert found(told) == {}
    told.stored(0)
    told.mark(0)
    assert found(told) == {"visible-twice": 1}


def test_order_of_records(told):
    told.transact(2, 3, at_ms=10)
    told.transact(4, 5, at_ms=20)
    told.stored(4, 5)
    told.stored(3, 2)
    told.mark(0)
    assert found(told) == {"visible-out-of-order": 2}
