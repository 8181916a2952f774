"""The application around a Python client's consumer: what it reports, and in which order."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.adapters.python_lib.verifiable import application
from clients.adapters.python_lib.verifiable.application import tell_records
from clients.adapters.python_lib.verifiable.asynchronous import AsyncConsumerAdapter
from clients.adapters.python_lib.verifiable.closing import Closing
from clients.adapters.python_lib.verifiable.consumer import ConsumerAdapter, Record
from clients.adapters.python_lib.verifiable.member import COMMIT_MODES, ERROR_PAUSE_S, Member

FEATURES = ("consumer", "group", "assign", "seek", "pause", "wakeup")
PARTITIONS = 3


class FakeOutput:
    """Keeps events instead of writing them."""

    def __init__(self):
        self.events = []
        self.ended = False

    def event(self, name, fields, last=False):
        assert not self.ended
        self.ended = last
        self.events.append({"name": name, **fields})

    def names(self):
        return [event["name"] for event in self.events]


class FakeConsumer(ConsumerAdapter):
    """Hands over ``batches``, one in each poll; calls one that can be called. ``fails`` has commits' errors."""

    callbacks = ("assigned", "revoked")

    def __init__(self, *batches, fails=()):
        self.batches, self.fails = list(batches), list(fails)
        self.finished_turns = 0
        self.sought = []

    def subscribe(self, topics, pattern):
        pass

    def unsubscribe(self):
        pass

    def seek(self, place, offset):
        self.sought.append((place, offset))

    def poll(self, timeout_s):
        batch = self.batches.pop(0)
        return batch() if callable(batch) else batch

    def commit(self, offsets):
        if self.fails:
            raise self.fails.pop(0)

    def commit_async(self, offsets, done):
        done(self.fails.pop(0) if self.fails else None)

    def finished(self):
        self.finished_turns += 1

    def close(self, timeout_s):
        return True


def member_of(*batches, mode="none", features=FEATURES, **fakes):
    """Return a subscribed member, and its output without what it said so far."""
    output = FakeOutput()
    member = Member(FakeConsumer(*batches, **fakes), features, output, threading.Event())
    member.obey({"cmd": "subscribe", "id": 1, "topics": ["t"], "commit": mode})
    output.events.clear()
    return member, output


def rows(partition, *offsets):
    return [Record("t", partition, offset, None, f"{offset}".encode()) for offset in offsets]


def told(output):
    """Return (partition, offset) of all records, in order within each partition."""
    parts = [
        part for event in output.events if event["name"] == "records_consumed" for part in event["partitions"]
    ]
    return [(part["partition"], offset) for part in parts for offset in part["offsets"]]


TURNS = st.lists(st.lists(st.integers(0, PARTITIONS - 1), min_size=1, max_size=8), min_size=1, max_size=8)


@given(TURNS, st.sampled_from(COMMIT_MODES))
def test_commits_cover_what_was_reported_and_nothing_else(turns, mode):
    ends = dict.fromkeys(range(PARTITIONS), 0)
    batches = []
    for turn in turns:
        batch = []
        for partition in turn:
            batch += rows(partition, ends[partition])
            ends[partition] += 1
        batches.append(batch)
    member, output = member_of(*batches, mode=mode)
    for _ in turns:
        member.turn()
    assert sorted(told(output)) == sorted((part, n) for part, end in ends.items() for n in range(end))
    reported = dict.fromkeys(ends, 0)
    committed = dict.fromkeys(ends, 0)
    for event in output.events:
        if event["name"] == "records_consumed":
            for part in event["partitions"]:
                reported[part["partition"]] = part["maxOffset"] + 1
                assert (committed[part["partition"]] > part["maxOffset"]) == (mode == "sync-first")
        else:
            for at in event["offsets"]:
                committed[at["partition"]] = at["offset"]
                assert (at["offset"] == reported[at["partition"]]) == (mode != "sync-first")
    assert any(committed.values()) == (mode in ("sync", "async", "sync-first"))
    assert member.taken == member.finished == sum(ends.values())


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_records_of_a_poll_come_before_their_partitions_are_given_up(mode):
    def rebalancing():
        member.adapter.application.revoked([("t", 0)], rows(0, 7))
        return []

    member, output = member_of(rebalancing, mode=mode)
    member.turn()
    assert output.names() == ["records_consumed", "offsets_committed", "partitions_revoked"]
    member.obey({"cmd": "commit", "id": 2})
    assert "offsets_committed" not in output.names()[3:]  # it has nothing to commit any more


def test_commit_command_commits_what_was_processed_since_the_position_was_set():
    member, output = member_of(rows(0, 4) + rows(1, 8))
    member.turn()
    member.obey({"cmd": "seek", "id": 2, "position": {"topic": "t", "partition": 1, "offset": 0}})
    member.obey({"cmd": "commit", "id": 3})
    [commit] = [event for event in output.events if event["name"] == "offsets_committed"]
    assert commit["offsets"] == [{"topic": "t", "partition": 0, "offset": 5}]


def test_failed_commit_has_the_client_s_name_for_its_error():
    member, output = member_of(rows(0, 4), mode="sync", fails=[LookupError("gone")])
    member.turn()
    events = {event["name"]: event for event in output.events}
    assert not events["offsets_committed"]["success"]
    assert events["offsets_committed"]["error"] == events["consumer_error"]["error"] == "LookupError"
    assert (member.adapter.finished_turns, member.adapter.sought) == (1, [])


@pytest.mark.parametrize(
    ("features", "sought"), [(FEATURES, [(("t", 0), 4), (("t", 1), 8)]), (("group",), [])]
)
def test_records_that_could_not_be_committed_first_are_not_processed(features, sought):
    first = rows(0, 4, 5) + rows(1, 8)
    member, output = member_of(
        first, rows(0, 6), mode="sync-first", features=features, fails=[LookupError("gone")]
    )
    member.turn()
    assert output.names() == ["offsets_committed", "consumer_error"]
    assert member.adapter.sought == sought
    member.turn()
    assert told(output) == [(0, 6)]
    assert member.taken == member.finished == len(first) + 1
    assert member.adapter.finished_turns == 2


def test_application_that_could_not_commit_first_pauses_before_it_goes_on(monkeypatch):
    member, output = member_of(rows(0, 4), mode="sync-first", fails=[LookupError("gone")])
    waited = []
    monkeypatch.setattr(member._closing, "wait", lambda timeout_s: waited.append((timeout_s, output.names())))
    member.turn()
    assert waited == [(ERROR_PAUSE_S, ["offsets_committed", "consumer_error"])]
    assert member.adapter.sought == [(("t", 0), 4)]


def test_failed_seek_after_a_failed_commit_is_survived():
    member, output = member_of(rows(0, 4), mode="sync-first", fails=[LookupError("gone")])
    del member.adapter.sought
    member.turn()
    errors = [event["call"] for event in output.events if event["name"] == "consumer_error"]
    assert errors == ["commit", "seek"]
    assert told(output) == []


def test_records_that_could_not_be_committed_before_a_rebalance_are_dropped():
    def rebalancing():
        member.adapter.application.revoked([("t", 0)], rows(0, 7))
        return []

    member, output = member_of(rebalancing, mode="sync-first", fails=[LookupError("gone")])
    member.turn()
    assert output.names() == ["offsets_committed", "consumer_error", "partitions_revoked"]
    assert member.adapter.sought == []


def test_failed_commands_and_polls_are_survived():
    def broken():
        raise LookupError("no broker")

    member, output = member_of(broken, rows(0, 0))
    member._closing.set()  # does not wait after an error
    member.turn()
    member.obey({"cmd": "pause", "id": 2, "partitions": []})
    member.turn()
    assert output.names() == [
        "consumer_error",
        "op_invoke",
        "consumer_error",
        "op_complete",
        "records_consumed",
    ]
    assert [event["call"] for event in output.events if event["name"] == "consumer_error"] == [
        "poll",
        "pause",
    ]
    assert output.events[3]["outcome"] == ["fail"]


@pytest.mark.parametrize(
    "command",
    [
        {"cmd": "seek", "id": 2, "position": {"topic": "t", "partition": 0, "offset": 0}},
        {"cmd": "subscribe", "id": 2, "pattern": "^t$"},
        {"cmd": "throw", "id": 2, "callback": "lost"},
        {"cmd": "produce", "id": 2},
    ],
    ids=lambda command: command["cmd"],
)
def test_commands_that_the_client_cannot_do_are_unsupported(command):
    member, output = member_of(features=("consumer", "group"))
    member.obey(command)
    assert output.events == [{"name": "unsupported", "cmd": command["cmd"], "id": 2}]


@given(st.integers(0, 3), st.integers(0, 5))
def test_listener_throws_as_often_as_requested_after_its_event(times, calls):
    member, output = member_of()
    member.obey({"cmd": "throw", "id": 2, "callback": "assigned", "times": times})
    output.events.clear()
    thrown = 0
    for _ in range(calls):
        try:
            member.adapter.application.assigned([("t", 0)])
        except application.ListenerError:
            thrown += 1
    assert (thrown, output.names()) == (min(times, calls), ["partitions_assigned"] * calls)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 600_000)), min_size=1, max_size=12))
def test_large_turn_is_reported_in_lines_of_limited_size(sizes):
    records = [Record("t", partition, n, None, b"v" * size, n) for n, (partition, size) in enumerate(sizes)]
    output = FakeOutput()
    tell_records(output, records, 5)
    assert sorted(told(output)) == sorted((record.partition, record.offset) for record in records)
    for event in output.events:
        values = [value for part in event["partitions"] for value in part["values"]]
        assert event["count"] == len(values) >= 1
        assert len(values) == 1 or sum(map(len, values)) <= application.EVENT_BYTES
        assert all(part["leader_epochs"] == part["offsets"] for part in event["partitions"])


def test_close_is_answered_once():
    output = FakeOutput()
    closing = Closing(output)
    closing.within(7, 3_600)
    closing.begin()
    closing.end("the client is not done")
    closing.end(None)
    assert output.names() == ["op_invoke", "op_complete", "shutdown_complete"]
    assert [event["id"] for event in output.events[:2]] == [7, 7]
    assert output.events[1]["error"] == ["the client is not done"]


class Rebalancing(AsyncConsumerAdapter):
    """A client that rebalances on its loop as soon as it has handed records over."""

    async def on_configure(self, config):
        self.revoked = asyncio.get_running_loop().create_future()
        return {}, {}

    async def on_poll(self, timeout_s):
        if not self.revoked.done():
            self.rebalance = asyncio.ensure_future(self.between_turns(self.application.revoked, [("t", 0)]))
            self.rebalance.add_done_callback(self.revoked.set_result)
            return rows(0, 1)
        return []

    async def on_commit(self, offsets):
        await asyncio.sleep(0)


def test_listener_on_a_loop_waits_for_the_end_of_the_turn():
    output = FakeOutput()
    adapter = Rebalancing()
    member = Member(adapter, FEATURES, output, threading.Event())
    adapter.configure({})
    member._commit_mode = "sync"
    member.turn()
    member.turn()
    assert output.names() == ["records_consumed", "offsets_committed", "partitions_revoked"]
