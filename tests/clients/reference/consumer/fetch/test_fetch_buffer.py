"""FetchBuffer: first come, first served, and what is kept after a change of the assignment."""

from __future__ import annotations

from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetch_buffer import FetchBuffer
from clients.reference.consumer.fetch.fetch_request import FetchSettings
from clients.reference.consumer.fetch.fetch_response import FetchedPartition

A, B, C = ("t", 0), ("t", 1), ("t", 2)


def fetch(partition):
    return CompletedFetch(partition, FetchedPartition(), 0, FetchSettings())


def test_fetches_leave_in_the_order_of_arrival():
    buffer, first, second, third = FetchBuffer(), fetch(A), fetch(B), fetch(C)
    assert buffer.is_empty
    buffer.add(first)
    buffer.add_all([second, third])
    assert not buffer.is_empty
    assert buffer.peek() is first
    assert [buffer.poll() for _ in range(4)] == [first, second, third, None]
    assert buffer.peek() is None


def test_the_fetch_in_line_counts_until_it_is_consumed():
    buffer = FetchBuffer()
    buffer.next_in_line = in_line = fetch(A)
    buffer.add(fetch(B))
    assert buffer.buffered_partitions() == {A, B}
    assert buffer.has(lambda each: each.partition == A)
    in_line.drain()
    assert buffer.buffered_partitions() == {B}
    assert not buffer.has(lambda each: each.partition == A)
    assert buffer.has(lambda each: each.partition == B)


def test_only_the_data_of_assigned_partitions_is_kept():
    buffer = FetchBuffer()
    buffer.next_in_line = in_line = fetch(A)
    kept, gone = fetch(B), fetch(C)
    buffer.add_all([gone, kept])
    buffer.retain_all({B})
    assert (buffer.next_in_line, buffer.poll(), buffer.poll()) == (None, kept, None)
    assert in_line.is_consumed
    assert gone.is_consumed
    assert not kept.is_consumed


def test_close_drops_everything():
    buffer, waiting = FetchBuffer(), fetch(A)
    buffer.add(waiting)
    buffer.close()
    assert buffer.is_empty
    assert waiting.is_consumed
