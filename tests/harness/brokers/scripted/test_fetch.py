"""Fetch: records, limits, isolation, waiting, sessions, epochs, replicas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from harness.wire.apis import Api
from harness.wire.records import end_transaction_marker, read_batches

NOW_MS = 1_700_000_000_000
MS = 1_000_000
VERSIONS = range(4, 18)


def records(part: Any) -> list[str]:
    return [record.value.decode() for batch in read_batches(part.records) for record in batch.records]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_what_was_produced(client, batch, reader, version):
    it = client()
    it.produce(batch(2))
    part = reader(it, version).part()
    assert (part.error_code, part.high_watermark, records(part)) == (ErrorCode.none, 2, ["v0", "v1"])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_whole_batches_from_the_one_that_contains_the_offset(client, batch, reader, counts, data):
    it = client()
    for count in counts:
        it.produce(batch(count))
    total = sum(counts)
    offset = data.draw(st.integers(0, total))
    stored = it.cluster.log_batches("t", 0)
    limit = data.draw(st.integers(0, sum(map(len, stored)) + 10))
    part = reader(it).part([(0, offset)], of={0: {"partition_max_bytes": limit}})
    following = [each for each in stored if read_batches_end(each) > offset]
    whole = b"".join(following)
    assert part.records == whole[: max(limit, len(following[0]) if following else 0)]


def read_batches_end(data: bytes) -> int:
    (read,) = read_batches(data)
    return read.header.last_offset + 1


def test_the_limit_of_the_request_goes_to_the_first_partition_that_has_records(client, batch, reader):
    it = client()
    for partition in (0, 1):
        it.produce(batch(), partition)
    parts = reader(it).send([(2, 0), (0, 0), (1, 0)], max_bytes=1).body.responses[0].partitions
    assert [bool(part.records) for part in parts] == [False, True, False]


@pytest.mark.parametrize(("offset", "code"), [(-1, 1), (1, 1), (3, 0), (4, 1)])
def test_offsets_outside_of_the_log_are_refused(client, batch, reader, offset, code):
    it = client()
    it.produce(batch(3))
    it.cluster.trim("t", 0, 2)
    assert reader(it).part([(0, offset)]).error_code == code


def test_readers_of_committed_records_wait_for_the_transaction(client, batch, reader):
    it = client()
    it.cluster.fill("t", 0, [batch(1), batch(2, (7, 0, 0), transactional=True), batch(1)], 0)
    part = reader(it).part(isolation=1)
    assert (part.high_watermark, part.last_stable_offset, len(records(part))) == (4, 1, 1)
    assert len(records(reader(it).part())) == 4
    it.cluster.fill("t", 0, [end_transaction_marker("ABORT", 7, 0, NOW_MS)], 0)
    part = reader(it).part(isolation=1)
    assert part.last_stable_offset == 5
    assert [(each.producer_id, each.first_offset) for each in part.aborted_transactions] == [(7, 1)]
    assert reader(it).part([(0, 5)], isolation=1).aborted_transactions == ()
    assert reader(it).part().aborted_transactions is None


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from(["records", "plain", "COMMIT", "ABORT"])), max_size=14
    )
)
def test_the_last_stable_offset_is_that_of_the_first_open_transaction(client, batch, steps):
    it = client()
    offset, opened, aborted = 0, {}, []
    for producer, kind in steps:
        if kind == "records":
            it.cluster.fill("t", 0, [batch(2, (producer, 0, 0), transactional=True)], 0)
            opened.setdefault(producer, offset)
            offset += 2
        elif kind == "plain":
            it.cluster.fill("t", 0, [batch(1)], 0)
            offset += 1
        else:
            it.cluster.fill("t", 0, [end_transaction_marker(kind, producer, 0, NOW_MS)], 0)
            first = opened.pop(producer, None)
            if kind == "ABORT" and first is not None:
                aborted.append((producer, first))
            offset += 1
    log = it.cluster.state.topics["t"].partitions[0].log
    assert log.last_stable_offset == min([offset, *opened.values()])
    assert [(each.producer_id, each.first_offset) for each in log.transactions.between(0, offset)] == aborted


def test_what_does_not_exist_has_no_aborted_transactions(client, reader):
    its = reader(client(), 12)
    assert its.part([(9, 0)]).aborted_transactions == ()
    assert its.part([(0, 5)]).aborted_transactions is None


def test_a_waiting_request_counts_what_was_appended_and_deleted(client, batch, reader):
    it = client()
    it.produce(batch())
    size_bytes = len(it.cluster.log_batches("t", 0)[0])
    waits = reader(it).send([(0, 1)], max_wait_ms=1_000, min_bytes=2 * size_bytes).answer.waiting
    it.produce(batch())
    it.cluster.trim("t", 0)
    assert waits.answer is None
    it.produce(batch())
    assert waits.answer is not None


def test_a_session_that_ends_up_empty_is_a_request_without_one(client, batch, reader):
    it = client()
    it.produce(batch())
    its = reader(it)
    its.session = (0, 0)
    its.session = (its.send([(0, 0)]).body.session_id, 1)
    body = its.send([(1, 0)], forget=(0, 1)).body
    assert (body.session_id, body.responses[0].partitions[0].partition_index) == (0, 1)


def test_a_session_that_goes_on_in_an_older_version_tells_no_divergence(client, batch, reader):
    it = client()
    it.produce(batch())
    its = reader(it, 12)
    its.session = (0, 0)
    its.session = (its.send([(0, 0)], of={0: {"last_fetched_epoch": 0}}).body.session_id, 1)
    it.cluster.begin_epoch("t", 0)
    older = reader(it, 11)
    older.session = its.session
    assert older.send([]).body.error_code == 0


def test_compacted_records_leave_gaps(client, batch, reader):
    it = client()
    it.cluster.fill("t", 0, [batch(3), batch(2)], 0)
    it.cluster.compact("t", 0, {1, 3, 4})
    read = list(read_batches(reader(it).part().records))
    assert [[record.offset for record in each.records] for each in read] == [[0, 2]]
    assert read[0].header.last_offset == 2
    assert [row.offset for row in it.cluster.read_log("t")] == [0, 2]


def test_a_fetch_waits_for_records(client, batch, reader):
    it = client()
    waits = reader(it).send(max_wait_ms=500).answer
    assert waits.frame is None and waits.waiting is not None
    said = []
    waits.waiting.then(said.append)
    it.now_ns = 100 * MS
    it.produce(batch())
    assert [answer.at_ns for answer in said] == [100 * MS]


def test_a_fetch_ends_after_its_maximum_wait(client, reader):
    it = client()
    waits = reader(it).send(max_wait_ms=500).answer
    assert it.cluster.due_ns == 500 * MS
    it.cluster.wake(499 * MS)
    assert waits.waiting.answer is None
    it.cluster.wake(500 * MS)
    assert waits.waiting.answer.frame is not None


def test_a_paused_broker_answers_when_it_continues(client, reader):
    it = client()
    waits = reader(it).send(max_wait_ms=500).answer
    it.cluster.pause(1)
    it.cluster.wake(600 * MS)
    assert waits.waiting.answer is None
    it.cluster.resume(1)
    it.cluster.wake(700 * MS)
    assert waits.waiting.answer.at_ns == 700 * MS


def test_min_bytes_are_counted_over_all_partitions(client, batch, reader):
    it = client()
    size = len(batch())
    waits = reader(it).send([(0, 0), (1, 0)], max_wait_ms=500, min_bytes=2 * size).answer
    it.produce(batch(), 0)
    assert waits.waiting.answer is None
    it.produce(batch(), 1)
    assert waits.waiting.answer is not None


def test_a_move_of_the_leader_ends_the_wait_with_the_new_leader(client, reader):
    it = client(nodes=3)
    its = reader(it, 17)
    leader, _ = it.cluster.leader("t", 0)
    waits = its.send(node_id=leader, max_wait_ms=500, of={0: {"current_leader_epoch": 0}}).answer
    it.cluster.move_leader("t", 0, 2, 0)
    it.cluster.wake(0)
    assert waits.waiting.answer is not None
    body = its.send(node_id=leader, of={0: {"current_leader_epoch": 0}}).body
    part = body.responses[0].partitions[0]
    assert part.error_code is ErrorCode.fenced_leader_epoch
    assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (2, 1)
    assert [node.node_id for node in body.node_endpoints] == [2]
    assert (
        its.part(node_id=2, of={0: {"current_leader_epoch": 2}}).error_code is ErrorCode.unknown_leader_epoch
    )


def test_old_versions_read_only_from_the_leader(client, batch, reader):
    it = client(nodes=3)
    it.produce(batch())
    assert reader(it, 10).part(node_id=2).error_code is ErrorCode.not_leader_or_follower
    assert records(reader(it, 11).part(node_id=2)) == ["v0"]


def test_a_leader_names_the_replica_in_the_clients_rack(client, batch, reader):
    it = client(nodes=3)
    it.produce(batch())
    it.cluster.set_racks({1: "a", 2: "b", 3: "c"})
    its = reader(it)
    part = its.part(rack="c", max_wait_ms=500)
    assert (part.preferred_read_replica, part.records) == (3, b"")
    assert records(its.part(rack="c", node_id=3)) == ["v0"]
    assert its.part(rack="a").preferred_read_replica == -1


def test_a_session_answers_what_changed(client, batch, reader):
    it = client()
    its = reader(it)
    its.session = (0, 0)
    body = its.send([(0, 0), (1, 0)]).body
    assert body.session_id > 0 and len(body.responses[0].partitions) == 2
    its.session = (body.session_id, 1)
    assert its.send([]).body.responses == ()
    it.produce(batch(), 1)
    its.session = (body.session_id, 2)
    (part,) = its.send([]).body.responses[0].partitions
    assert (part.partition_index, records(part)) == (1, ["v0"])
    its.session = (body.session_id, 2)
    assert its.send([]).body.error_code is ErrorCode.invalid_fetch_session_epoch
    its.session = (body.session_id + 1, 3)
    assert its.send([]).body.error_code is ErrorCode.fetch_session_id_not_found
    its.session = (body.session_id, 3)
    assert its.send([], forget=(0, 1)).body.session_id == 0
    its.session = (body.session_id, 4)
    assert its.send([]).body.error_code is ErrorCode.fetch_session_id_not_found


def test_a_session_of_ids_is_not_continued_by_names(client, reader):
    it = client()
    its = reader(it)
    its.session = (0, 0)
    older = reader(it, 12)
    older.session = (its.send().body.session_id, 1)
    assert older.send([]).body.error_code is ErrorCode.fetch_session_topic_id_error


def test_a_killed_broker_loses_its_sessions(client, reader):
    it = client()
    its = reader(it)
    its.session = (0, 0)
    its.session = (its.send().body.session_id, 1)
    it.cluster.kill(1, 0)
    it.cluster.restart(1, 0)
    assert its.send([]).body.error_code is ErrorCode.fetch_session_id_not_found


def test_a_full_cache_gives_no_session_until_one_is_old(client, reader):
    it = client()
    it.cluster.state.nodes[1].fetch_sessions.max_sessions = 1
    its = reader(it)
    its.session = (0, 0)
    assert its.send().body.session_id > 0
    assert its.send([(0, 0), (1, 0)]).body.session_id == 0
    it.now_ns = 120_001 * MS
    assert its.send().body.session_id > 0


def test_a_recreated_topic_is_another_one(client, reader):
    it = client()
    its = reader(it)
    old = its.topic()
    its.session = (0, 0)
    session_id = its.send().body.session_id
    it.cluster.recreate_topic("t")
    its.session = (session_id, 1)
    assert its.send([]).body.responses[0].partitions[0].error_code is ErrorCode.inconsistent_topic_id
    its.session, its.topic = (0, -1), lambda: old
    assert its.part().error_code is ErrorCode.unknown_topic_id


def test_errors_are_injected_at_the_nth_request(client, batch, reader):
    it = client()
    it.produce(batch())
    it.cluster.inject_error(Api.FETCH, int(ErrorCode.invalid_fetch_session_epoch), 1, skip=1)
    assert reader(it).send().body.error_code is ErrorCode.none
    assert reader(it).send().body.error_code is ErrorCode.invalid_fetch_session_epoch
    it.cluster.inject_error(Api.FETCH, int(ErrorCode.corrupt_message), 1, partition=0)
    parts = reader(it).send([(0, 0), (1, 0)]).body.responses[0].partitions
    assert {part.partition_index: part.error_code for part in parts} == {0: 2, 1: 0}
