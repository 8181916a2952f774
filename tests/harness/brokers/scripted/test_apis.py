"""ApiVersions, Metadata, InitProducerId and FindCoordinator, in every supported version."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from harness.wire.apis import Api
from harness.wire.messages import encode_request, message_class

RELEASES = {"3.9.2": {0: (0, 11), 3: (0, 12), 22: (0, 5)}, "4.3.1": {0: (0, 13), 3: (0, 13), 22: (0, 5)}}
MINUTE = timedelta(minutes=1)
#: TransactionMetadata.isEpochExhausted in Kafka 4.1.1: Short.MaxValue - 1 is the last epoch that is assigned.
LAST_EPOCH = 32_766


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("version", range(5))
def test_each_release_offers_its_version_ranges(client, release, version):
    named = {"client_software_name": "a-client", "client_software_version": "1.0"}
    body = client(version=release).request(Api.API_VERSIONS, version, **named).body
    offered = {int(key.api_key): (key.min_version, key.max_version) for key in body.api_keys}
    assert body.error_code is ErrorCode.none
    assert {**offered, **RELEASES[release]} == offered
    assert offered[18] == (0, 4)
    assert offered[10] == (0, 6)


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(client):
    cluster = client().cluster
    asked = encode_request(
        message_class(Api.API_VERSIONS, 4, "request")(client_software_name="a", client_software_version="1"),
        9,
        "c",
    )
    payload = asked[4:6] + (77).to_bytes(2, "big") + asked[8:]
    answer = cluster.handle(1, 1, payload, 0)
    assert answer.frame is not None
    assert not answer.close
    # size, correlation id, error code, one key, its range
    assert answer.frame[4:] == bytes.fromhex("00000009002300000001001200000004")


@pytest.mark.parametrize("name", ["", "-a", "a b", "ä"])
def test_an_invalid_client_name_is_refused(client, name):
    body = client().request(Api.API_VERSIONS, 3, client_software_name=name, client_software_version="1").body
    assert (body.error_code, body.api_keys) == (ErrorCode.invalid_request, ())


@pytest.mark.parametrize("version", range(14))
def test_every_metadata_version_lists_brokers_and_topics(client, version):
    it = client(nodes=3)
    body = it.metadata("t", "unknown", "not a name", version=version)
    assert {node.node_id: (node.host, node.port) for node in body.brokers} == {
        1: ("b1", 9091),
        2: ("b2", 9092),
        3: ("b3", 9093),
    }
    known, unknown, invalid = body.topics
    assert [topic.error_code for topic in body.topics] == [
        ErrorCode.none,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.invalid_topic_exception,
    ]
    assert (unknown.partitions, invalid.partitions) == ((), ())
    assert [partition.leader_id for partition in known.partitions] == [1, 2, 3]
    assert [set(partition.isr_nodes) for partition in known.partitions] == [{1, 2, 3}] * 3
    if version >= 7:
        assert [partition.leader_epoch for partition in known.partitions] == [0, 0, 0]
    if version >= 10:
        assert known.topic_id != UUID(int=0)
        assert it.metadata("t", version=version).topics[0].topic_id == known.topic_id


@pytest.mark.parametrize("version", [0, 1, 5, 13])
def test_metadata_lists_all_topics_or_none(client, version):
    it = client()
    it.cluster.create_topic("u", 1)
    everything = it.metadata(version=version) if version == 0 else it.metadata(version=version, topics=None)
    assert [topic.name for topic in everything.topics] == ["t", "u"]
    if version:
        assert it.metadata(version=version).topics == ()


def test_metadata_finds_topics_by_id(client, build, structure):
    it = client()
    known = it.metadata("t").topics[0].topic_id
    asked = structure(Api.METADATA, 12, "request", "MetadataRequestTopic")
    topics = tuple(asked(name=None, topic_id=topic_id) for topic_id in (known, UUID(int=5)))
    found = it.metadata(topics=topics).topics
    assert {(topic.topic_id, topic.name, topic.error_code) for topic in found} == {
        (known, "t", ErrorCode.none),
        (UUID(int=5), None, ErrorCode.unknown_topic_id),
    }


def test_a_topic_is_created_only_if_broker_and_client_allow_it(client):
    it = client()
    ask = lambda: it.metadata("new", allow_auto_topic_creation=True).topics[0].error_code  # noqa: E731
    assert [ask(), ask()] == [ErrorCode.unknown_topic_or_partition] * 2
    it.cluster.settings.auto_create_topics_enable = True
    assert it.metadata("other").topics[0].error_code is ErrorCode.unknown_topic_or_partition
    assert it.metadata("other").topics[0].error_code is ErrorCode.unknown_topic_or_partition
    assert [ask(), ask()] == [ErrorCode.unknown_topic_or_partition, ErrorCode.none]


def test_metadata_reveals_nothing_about_a_denied_topic(client):
    it = client()
    it.cluster.settings.denied_topics.add("t")
    topic = it.metadata("t").topics[0]
    assert (topic.error_code, topic.partitions, topic.topic_id or UUID(int=0)) == (
        ErrorCode.topic_authorization_failed,
        (),
        UUID(int=0),
    )
    assert it.metadata(topics=None).topics == ()


def test_metadata_changes_after_a_leader_change(client):
    it = client(nodes=2)
    assert it.metadata("t").topics[0].partitions[0].leader_id == 1
    assert it.metadata("t").topics[0].partitions[0].leader_id == 1
    it.cluster.move_leader("t", 0, 2, 0)
    moved = it.metadata("t").topics[0].partitions[0]
    assert (moved.leader_id, moved.leader_epoch) == (2, 1)


def test_injected_metadata_errors_are_at_their_level(client):
    it = client()
    it.cluster.inject_error(Api.METADATA, 5, 1, partition=1)
    codes = [partition.error_code for partition in it.metadata("t").topics[0].partitions]
    assert codes == [ErrorCode.none, ErrorCode.leader_not_available, ErrorCode.none]
    it.cluster.inject_error(Api.METADATA, 5, 1)
    assert it.metadata("t").topics[0].error_code is ErrorCode.leader_not_available
    it.cluster.inject_error(Api.METADATA, 129, 1)
    assert it.metadata("t", version=13).error_code is ErrorCode.rebootstrap_required
    assert it.metadata("t", version=13).error_code is ErrorCode.none


def init(it, version=4, node_id=1, transactional_id=None, expected=(-1, -1), timeout=MINUTE):
    body = it.request(
        Api.INIT_PRODUCER_ID,
        version,
        node_id,
        transactional_id=transactional_id,
        transaction_timeout=timeout,
        producer_id=expected[0],
        producer_epoch=expected[1],
    ).body
    return body.error_code, body.producer_id, body.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_producer_ids_are_unique_across_nodes(client, version):
    it = client(nodes=3)
    given = [init(it, version, node_id) for node_id in (1, 2, 3) * 700]
    assert {(code, epoch) for code, _, epoch in given} == {(ErrorCode.none, 0)}
    assert len({producer_id for _, producer_id, _ in given}) == len(given)


def test_an_idempotent_producer_always_gets_a_new_id(client):
    it = client()
    assert init(it, expected=(5, 3)) == (ErrorCode.none, 0, 0)
    assert init(it, expected=(5, -1)) == (ErrorCode.invalid_request, -1, -1)
    it.cluster.settings.cluster_denied = True
    assert init(it)[0] is ErrorCode.cluster_authorization_failed


def test_a_transactional_id_keeps_its_producer_id_and_bumps_the_epoch(client):
    it = client()
    assert [init(it, transactional_id="x") for _ in range(3)] == [
        (ErrorCode.none, 0, epoch) for epoch in range(3)
    ]
    assert init(it, transactional_id="y") == (ErrorCode.none, 1, 0)
    assert init(it, transactional_id="x", expected=(0, 2)) == (ErrorCode.none, 0, 3)
    assert init(it, transactional_id="x", expected=(0, 2)) == (
        ErrorCode.none,
        0,
        3,
    )  # a retry after a lost answer
    assert init(it, transactional_id="x", expected=(0, 1))[0] is ErrorCode.producer_fenced
    assert init(it, 3, transactional_id="x", expected=(0, 1))[0] is ErrorCode.invalid_producer_epoch


def test_a_new_producer_id_follows_the_last_epoch(client):
    it = client()
    init(it, transactional_id="x")
    it.cluster.transaction("x").producer_epoch = LAST_EPOCH - 1
    assert init(it, transactional_id="x") == (ErrorCode.none, 0, LAST_EPOCH)
    assert init(it, transactional_id="x") == (ErrorCode.none, 1, 0)


def test_init_producer_id_refuses_invalid_requests(client):
    """The refusals of InitProducerId, among them that of CLI-CFG-08."""
    it = client()
    settings = it.cluster.settings
    assert init(it, transactional_id="")[0] is ErrorCode.invalid_request
    fifteen = timedelta(milliseconds=settings.transaction_max_timeout_ms)
    assert init(it, transactional_id="x", timeout=fifteen)[0] is ErrorCode.none
    over = fifteen + timedelta(milliseconds=1)
    assert init(it, transactional_id="x", timeout=over)[0] is ErrorCode.invalid_transaction_timeout
    settings.denied_transactional_ids.add("x")
    assert init(it, transactional_id="x")[0] is ErrorCode.transactional_id_authorization_failed
    settings.denied_transactional_ids.clear()
    settings.coordinator_load_in_progress = True
    assert init(it, transactional_id="x")[0] is ErrorCode.coordinator_load_in_progress
    it.cluster.inject_error(Api.INIT_PRODUCER_ID, 53, 1)
    assert [init(it)[0] for _ in range(2)] == [
        ErrorCode.transactional_id_authorization_failed,
        ErrorCode.none,
    ]


def find(it, version, *keys, key_type=1):
    body = it.request(
        Api.FIND_COORDINATOR, version, key=keys[0], key_type=key_type, coordinator_keys=keys
    ).body
    return body.coordinators if version >= 4 else (body,)


@pytest.mark.parametrize("version", range(7))
def test_every_version_finds_the_right_coordinator(client, version):
    it = client(nodes=3)
    keys = ("x", "y", "z", "ä") if version >= 4 else ("x",)
    found = find(it, version, *keys)
    assert len(found) == len(keys)
    for key, each in zip(keys, found, strict=True):
        assert each.error_code is ErrorCode.none
        assert (each.host, each.port) == (f"b{each.node_id}", 9090 + each.node_id)
        assert getattr(each, "key", key) == key
        for node_id in (1, 2, 3):
            code, _, _ = init(it, node_id=node_id, transactional_id=key)
            assert code is (ErrorCode.none if node_id == each.node_id else ErrorCode.not_coordinator)


def test_an_unavailable_coordinator_is_reported(client):
    it = client()
    it.cluster.settings.coordinator_available = False
    assert find(it, 4, "x")[0].error_code is ErrorCode.coordinator_not_available
    assert find(it, 4, "x", key_type=9)[0].error_code is ErrorCode.invalid_request


@pytest.mark.parametrize(
    ("key", "hash_"),
    [("a", 97), ("hello", 99_162_322), ("polygenelubricants", 0)],  # Integer.MIN_VALUE has no absolute value
)
def test_coordinators_are_assigned_by_javas_string_hash(client, key, hash_):
    [found] = find(client(nodes=3), 4, key)
    assert found.node_id == 1 + hash_ % 50 % 3


@pytest.mark.parametrize("api", [Api.METADATA, Api.FIND_COORDINATOR, Api.INIT_PRODUCER_ID])
def test_answers_contain_the_throttle_time(client, api):
    it = client()
    it.cluster.set_throttle_ms(api, 70)
    body = it.metadata("t") if api is Api.METADATA else None
    if api is Api.FIND_COORDINATOR:
        body = it.request(api, 3, key="x", key_type=1).body
    if api is Api.INIT_PRODUCER_ID:
        body = it.request(api, 4, transactional_id=None, transaction_timeout=MINUTE).body
    assert body.throttle_time == timedelta(milliseconds=70)
