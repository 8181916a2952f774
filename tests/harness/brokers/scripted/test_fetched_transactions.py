"""Fetch: which aborted transactions a response lists, and where transactions hold a reader back."""

from __future__ import annotations

import pytest

from harness.wire.records import end_transaction_marker

NOW_MS = 1_700_000_000_000


def test_a_transaction_before_the_logs_start_ends_at_the_batch_there(client, batch, reader):
    it = client()
    open_one = batch(2, (7, 0, 0), transactional=True)
    it.cluster.fill("t", 0, [open_one, batch(3), batch(1)], 0)
    it.cluster.trim("t", 0, 3)
    assert reader(it).part([(0, 3)]).last_stable_offset == 2
    it.cluster.trim("t", 0)
    assert reader(it).part([(0, 6)]).last_stable_offset == 6


def test_aborted_transactions_are_listed_up_to_the_next_entry_of_the_index(client, batch, reader):
    it = client()
    it.cluster.fill(
        "t", 0, [batch(1), batch(1, value=b"x" * 5_000), batch(1, value=b"x" * 5_000), batch(1)], 0
    )
    aborted = [batch(1, (7, 0, 0), transactional=True), end_transaction_marker("ABORT", 7, 0, NOW_MS)]
    it.cluster.fill("t", 0, aborted, 0)
    one = {"isolation": 1, "of": {0: {"partition_max_bytes": 1}}}
    listed = [len(reader(it).part([(0, offset)], **one).aborted_transactions) for offset in range(4)]
    assert listed == [0, 0, 0, 1]


def test_the_first_entry_of_the_index_is_not_found_from_its_own_position(client, batch, reader):
    it = client()
    it.cluster.fill("t", 0, [batch(1, value=b"x" * 5_000), batch(1)], 0)
    aborted = [batch(1, (7, 0, 0), transactional=True), end_transaction_marker("ABORT", 7, 0, NOW_MS)]
    it.cluster.fill("t", 0, aborted, 0)
    first = reader(it).part(isolation=1, of={0: {"partition_max_bytes": 1}})
    assert len(first.aborted_transactions) == 1


@pytest.mark.parametrize(("version", "waits"), [("4.3.1", True), ("3.9.2", False)])
def test_a_request_from_within_an_unstable_batch_waits_or_not(client, batch, reader, version, waits):
    it = client(version=version)
    it.cluster.fill("t", 0, [batch(3, (7, 0, 0), transactional=True)], 0)
    within = reader(it).send([(0, 2)], isolation=1, max_wait_ms=1_000, min_bytes=1)
    assert (within.answer.waiting is not None) is waits


def test_a_first_batch_that_does_not_fit_hides_the_aborted_transactions(client, batch, reader):
    it = client()
    for partition in (0, 1):
        it.produce(batch(), partition)
    parts = reader(it).send([(0, 0), (1, 0)], isolation=1, of={1: {"partition_max_bytes": 1}})
    first, second = parts.body.responses[0].partitions
    assert (first.aborted_transactions, second.records, second.aborted_transactions) == ((), b"", None)
