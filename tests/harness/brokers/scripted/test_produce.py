"""Produce: the answer to each kind of batch, topic and cluster, and the log afterwards."""

from __future__ import annotations

from uuid import UUID

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from harness.wire.apis import Api
from harness.wire.records import Codec, read_batches

NOW_MS = 1_700_000_000_000
VERSIONS = range(3, 14)


def sealed(batch: bytearray) -> bytes:
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


def changed(batch: bytes, at: int, value: bytes, *, seal: bool = True) -> bytes:
    new = bytearray(batch)
    new[at : at + len(value)] = value
    return sealed(new) if seal else bytes(new)


def topic_of(it, version):
    if version < 13:
        return "t"
    return it.metadata("t").topics[0].topic_id


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("codec", list(Codec))
def test_every_version_appends_and_returns_the_offset(client, batch, version, codec):
    it = client()
    answer = it.produce(batch(3, codec=codec), topic=topic_of(it, version), version=version)
    if codec is Codec.ZSTD and version < 7:
        assert answer.error_code is ErrorCode.unsupported_compression_type
        return
    assert (answer.error_code, answer.base_offset, answer.log_append_time) == (ErrorCode.none, 0, None)
    assert getattr(answer, "log_start_offset", 0) == 0
    assert [row.value for row in it.cluster.read_log("t")] == ["v0", "v1", "v2"]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5), st.sampled_from(list(Codec))), max_size=12),
    st.sampled_from([1, -1]),
)
def test_the_log_contains_the_appended_records_in_order(client, batch, appends, acks):
    it = client()
    for number, (partition, count, codec) in enumerate(appends):
        it.produce(batch(count, codec=codec, value=b"%d-" % number), partition, acks=acks)
    rows = it.cluster.read_log("t")
    for partition in range(3):
        mine = [row for row in rows if row.partition == partition]
        assert [row.offset for row in mine] == list(range(len(mine)))
        assert [row.value for row in mine] == [
            f"{number}-{index}"
            for number, (where, count, _) in enumerate(appends)
            if where == partition
            for index in range(count)
        ]
        for stored in it.cluster.log_batches("t", partition):
            (read,) = read_batches(stored)
            assert read.crc_ok
            assert read.header.partition_leader_epoch == 0


def test_each_partition_has_its_own_result(client, batch):
    it = client()
    answer = it.produce_many([(0, batch()), (9, batch()), (1, None), (2, batch())]).body
    codes = [part.error_code for part in answer.responses[0].partition_responses]
    assert codes == [
        ErrorCode.none,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.invalid_record,
        ErrorCode.none,
    ]


def test_two_batches_for_one_partition_are_refused(client, batch):
    assert client().produce(batch() + batch()).error_code is ErrorCode.invalid_record


def test_a_truncated_batch_after_a_complete_one_is_ignored(client, batch):
    it = client()
    assert it.produce(batch() + batch()[:20]).error_code is ErrorCode.none
    assert len(it.cluster.read_log("t")) == 1


@pytest.mark.parametrize(
    ("at", "value", "code"),
    [
        (0, (5).to_bytes(8, "big"), ErrorCode.invalid_record),  # the base offset is not 0
        (8, (3).to_bytes(4, "big"), ErrorCode.corrupt_message),  # the length is shorter than a header
        (16, b"\1", ErrorCode.invalid_record),  # format 1
        (16, b"\3", ErrorCode.corrupt_message),  # an unknown format
        (22, b"\7", ErrorCode.unknown_server_error),  # an unknown codec
        (22, b"\x20", ErrorCode.invalid_record),  # a control batch
        (23, (7).to_bytes(4, "big"), ErrorCode.invalid_record),  # the last offset delta
        (57, (0).to_bytes(4, "big"), ErrorCode.invalid_record),  # no records
        (57, (2).to_bytes(4, "big"), ErrorCode.invalid_record),  # the count exceeds the number of records
        (61, b"\x08", ErrorCode.invalid_record),  # the length of a record
        (22, b"\x02", ErrorCode.unknown_server_error),  # not snappy data
    ],
)
def test_an_inconsistent_batch_is_refused(client, batch, at, value, code):
    it = client()
    assert it.produce(changed(batch(), at, value)).error_code is code
    assert it.cluster.read_log("t") == []


def test_a_producer_without_a_sequence_is_refused(client, batch):
    assert client().produce(batch(1, (7, 0, -1))).error_code is ErrorCode.invalid_record


def test_a_broken_crc_is_refused(client, batch):
    answer = client().produce(changed(batch(), 65, b"\0", seal=False))
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.corrupt_message, -1)


@pytest.mark.parametrize("acks", [2, -2, 7])
def test_acks_other_than_0_1_and_all_are_refused(client, batch, acks):
    assert client().produce(batch(), acks=acks).error_code is ErrorCode.invalid_required_acks


def test_the_size_limit_applies_to_the_whole_batch(client, batch):
    data = batch()
    it = client(config={"max.message.bytes": str(len(data))})
    assert it.produce(data).error_code is ErrorCode.none
    it.cluster.alter_config("t", {"max.message.bytes": str(len(data) - 1)})
    assert it.produce(data).error_code is ErrorCode.message_too_large
    it.cluster.alter_config("t", {"max.message.bytes": None, "segment.bytes": str(len(data) - 1)})
    assert it.produce(data).error_code is ErrorCode.record_list_too_large


def test_a_compacted_topic_refuses_records_without_a_key(client, batch):
    it = client(config={"cleanup.policy": "compact"})
    answer = it.produce(batch(2, key=None))
    assert answer.error_code is ErrorCode.invalid_record
    assert [error.batch_index for error in answer.record_errors] == [0, 1]
    assert it.produce(batch(2)).error_code is ErrorCode.none


@pytest.mark.parametrize(
    ("config", "timestamp_ms", "code"),
    [
        ({}, NOW_MS + 3_600_000, ErrorCode.none),
        ({}, NOW_MS + 3_600_001, ErrorCode.invalid_timestamp),
        ({"message.timestamp.before.max.ms": "10"}, NOW_MS - 10, ErrorCode.none),
        ({"message.timestamp.before.max.ms": "10"}, NOW_MS - 11, ErrorCode.invalid_timestamp),
        ({"message.timestamp.type": "LogAppendTime"}, 2**50, ErrorCode.none),
    ],
)
def test_timestamps_out_of_bounds_are_refused(client, batch, config, timestamp_ms, code):
    assert client(config=config).produce(batch(timestamp_ms=timestamp_ms)).error_code is code


def test_kafka_3_9_accepts_any_timestamp(client, batch):
    assert client(version="3.9.2").produce(batch(timestamp_ms=2**50), version=11).error_code is ErrorCode.none


def test_log_append_time_is_that_of_the_broker(client, batch):
    it = client(config={"message.timestamp.type": "LogAppendTime"})
    it.now_ns = 5_000_000
    answer = it.produce(batch(2, timestamp_ms=1))
    assert answer.log_append_time.timestamp() * 1000 == NOW_MS + 5
    assert [row.timestamp_ms for row in it.cluster.read_log("t")] == [NOW_MS + 5] * 2
    (stored,) = (next(iter(read_batches(data))) for data in it.cluster.log_batches("t", 0))
    assert stored.crc_ok
    assert stored.header.timestamp_type == "LogAppendTime"


def test_the_answer_to_a_duplicate_has_the_time_of_its_batch(client, batch):
    it = client()
    assert it.produce(batch(1, (7, 0, 0))).log_append_time is None
    assert it.produce(batch(1, (7, 0, 0))).log_append_time.timestamp() * 1000 == NOW_MS


def test_unknown_and_internal_topics_are_refused(client, batch):
    it = client()
    assert it.produce(batch(), topic="u").error_code is ErrorCode.unknown_topic_or_partition
    assert it.produce(batch(), topic=UUID(int=5), version=13).error_code is ErrorCode.unknown_topic_id
    it.cluster.create_topic("__consumer_offsets", 1)
    assert it.produce(batch(), topic="__consumer_offsets").error_code is ErrorCode.invalid_topic_exception


def test_a_recreated_topic_has_a_new_id_and_an_empty_log(client, batch):
    it = client()
    old = topic_of(it, 13)
    it.produce(batch(2))
    it.cluster.recreate_topic("t")
    assert it.produce(batch(), topic=old, version=13).error_code is ErrorCode.unknown_topic_id
    assert it.produce(batch(), topic=topic_of(it, 13), version=13).base_offset == 0
    assert [row.offset for row in it.cluster.read_log("t", deleted=True)] == [0, 1, 0]


def test_a_follower_names_the_leader(client, batch):
    it = client(nodes=2)
    it.cluster.move_leader("t", 0, 2, 0)
    for version in VERSIONS:
        body = it.produce_many([(0, batch())], topic=topic_of(it, version), version=version).body
        part = body.responses[0].partition_responses[0]
        assert part.error_code is ErrorCode.not_leader_or_follower
        if version >= 10:
            assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (2, 1)
            assert [(n.node_id, n.host, n.port) for n in body.node_endpoints] == [(2, "b2", 9092)]
    assert it.cluster.read_log("t") == []


def test_too_few_in_sync_replicas_refuse_only_acks_all(client, batch):
    it = client(nodes=2)
    it.cluster.drop_from_isr(2)
    assert it.produce(batch()).error_code is ErrorCode.not_enough_replicas
    assert it.produce(batch(), acks=1).error_code is ErrorCode.none
    it.cluster.return_to_isr(2)
    assert it.produce(batch()).base_offset == 1


def test_acks_all_waits_for_a_paused_follower_until_the_timeout(client, batch):
    it = client(nodes=2)
    it.cluster.pause(2)
    waited = it.produce_many([(0, batch(1, (7, 0, 0)))], timeout_ms=1_500)
    part = waited.body.responses[0].partition_responses[0]
    assert (part.error_code, part.base_offset) == (ErrorCode.request_timed_out, 0)
    assert waited.answer.at_ns == 1_500 * 1_000_000
    assert it.produce_many([(0, batch())], acks=1).answer.at_ns == 0
    it.cluster.resume(2)
    again = it.produce_many([(0, batch(1, (7, 0, 0)))])
    assert again.body.responses[0].partition_responses[0].error_code is ErrorCode.none
    assert again.answer.at_ns == 0


def test_acks_0_has_no_answer_and_an_error_closes_the_connection(client, batch):
    it = client()
    fine = it.produce_many([(0, batch())], acks=0).answer
    assert (fine.frame, fine.close) == (None, False)
    failed = it.produce_many([(9, batch())], acks=0).answer
    assert (failed.frame, failed.close) == (None, True)
    assert "unknown_topic_or_partition" in it.cluster.closed[0][2]


def test_denied_topics_and_unopened_transactions_are_refused(client, batch):
    it = client()
    it.cluster.settings.denied_topics.add("t")
    assert it.produce(batch()).error_code is ErrorCode.topic_authorization_failed
    it.cluster.settings.denied_topics.clear()
    transactional = batch(1, (7, 0, 0), transactional=True)
    assert it.produce(transactional).error_code is ErrorCode.transactional_id_authorization_failed
    assert it.produce(transactional, transactional_id="x").error_code is ErrorCode.invalid_producer_id_mapping


@pytest.mark.parametrize("after_append", [False, True])
@pytest.mark.parametrize("code", sorted(ErrorCode))
def test_any_error_code_can_be_injected(client, batch, code, after_append):
    if code is ErrorCode.none:
        return
    it = client()
    it.cluster.inject_error(Api.PRODUCE, int(code), 2, partition=1, after_append=after_append)
    assert it.produce(batch(), 0).error_code is ErrorCode.none
    assert [it.produce(batch(), 1).error_code for _ in range(3)] == [code, code, ErrorCode.none]
    assert len([row for row in it.cluster.read_log("t") if row.partition == 1]) == (3 if after_append else 1)


def test_throttling_delays_the_next_request_and_not_the_answer(client, batch):
    it = client()
    it.cluster.set_throttle_ms(Api.PRODUCE, 250)
    first = it.produce_many([(0, batch())])
    assert first.body.throttle_time.total_seconds() == 0.25
    assert first.answer.at_ns == 0
    it.cluster.set_throttle_ms(Api.PRODUCE, 0)
    assert it.produce_many([(0, batch())]).answer.at_ns == 250_000_000
    assert it.produce_many([(0, batch())]).answer.at_ns == 0
