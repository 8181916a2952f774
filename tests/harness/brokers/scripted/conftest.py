"""Helpers for the tests of the scripted brokers: requests as bytes, answers as messages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from harness.brokers.scripted.cluster import Answer, ScriptedCluster
from harness.model.dice import Dice
from harness.wire.apis import Api
from harness.wire.messages import decode_response, encode_request, message_class
from harness.wire.records import BatchBuilder, Codec

NOW_MS = 1_700_000_000_000
MS = 1_000_000


def structure(api: Api, version: int, kind: Any, name: str) -> Any:
    return getattr(sys.modules[message_class(api, version, kind).__module__], name)


def build(kind: Any, **values: Any) -> Any:
    known = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in known})


def batch(
    count: int = 1,
    producer: tuple[int, int, int] = (-1, -1, -1),
    *,
    codec: Codec = Codec.NONE,
    key: bytes | None = b"k",
    timestamp_ms: int = NOW_MS,
    value: bytes = b"v",
    transactional: bool = False,
) -> bytes:
    """Return a batch of ``count`` records of a producer (producer id, epoch, base sequence)."""
    builder = BatchBuilder(codec)
    for index in range(count):
        builder.append(timestamp_ms, key, value + str(index).encode())
    return builder.build(*producer, transactional=transactional)


class Response(NamedTuple):
    """An answer and the message in it."""

    answer: Answer
    body: Any


class Client:
    """Sends requests to a cluster on connection 1 and reads the answers, both in the wire format."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self.cluster = cluster
        self.now_ns = 0
        self.conn = 1
        self._correlation_id = 0

    def send(self, node_id: int, message: Any) -> Response:
        self._correlation_id += 1
        payload = encode_request(message, self._correlation_id, "client")[4:]
        answer = self.cluster.handle(node_id, self.conn, payload, self.now_ns)
        if answer.frame is None:
            return Response(answer, None)
        assert int.from_bytes(answer.frame[:4], "big") == len(answer.frame) - 4
        correlation_id, body = decode_response(answer.frame[4:], message.__api_key__, message.__version__)
        assert correlation_id == self._correlation_id
        return Response(answer, body)

    def request(self, api: Api, version: int, node_id: int = 1, **values: Any) -> Response:
        return self.send(node_id, build(message_class(api, version, "request"), **values))

    def produce_many(
        self,
        parts: Sequence[tuple[int, bytes | None]],
        *,
        topic: str | UUID = "t",
        version: int = 12,
        acks: int = -1,
        node_id: int = 1,
        timeout_ms: int = 30_000,
        transactional_id: str | None = None,
    ) -> Response:
        part = structure(Api.PRODUCE, version, "request", "PartitionProduceData")
        data = tuple(part(index=index, records=records) for index, records in parts)
        named = structure(Api.PRODUCE, version, "request", "TopicProduceData")
        return self.request(
            Api.PRODUCE,
            version,
            node_id,
            transactional_id=transactional_id,
            acks=acks,
            timeout=timedelta(milliseconds=timeout_ms),
            topic_data=(build(named, name=topic, topic_id=topic, partition_data=data),),
        )

    def produce(self, records: bytes | None, partition: int = 0, **given: Any) -> Any:
        """Produce to one partition and return its part of the answer."""
        body = self.produce_many([(partition, records)], **given).body
        return body.responses[0].partition_responses[0]

    def metadata(self, *topics: str, version: int = 12, node_id: int = 1, **given: Any) -> Any:
        asked = structure(Api.METADATA, version, "request", "MetadataRequestTopic")
        values = {
            "topics": tuple(build(asked, name=name, topic_id=None) for name in topics),
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": False,
            "include_cluster_authorized_operations": False,
        }
        return self.request(Api.METADATA, version, node_id, **(values | given)).body


def make_cluster(nodes: int = 1, version: str = "4.3.1", **topic: Any) -> ScriptedCluster:
    cluster = ScriptedCluster(
        version, {i: (f"b{i}", 9090 + i) for i in range(1, nodes + 1)}, Dice(1, "cluster")
    )
    cluster.create_topic("t", topic.pop("partitions", 3), **topic)
    return cluster


@pytest.fixture(scope="session")
def client() -> Callable[..., Client]:
    """Return a function that makes a client of a new cluster with topic "t"."""
    return lambda nodes=1, **given: Client(make_cluster(nodes, **given))


@pytest.fixture(scope="session", name="batch")
def batch_maker() -> Callable[..., bytes]:
    return batch


@pytest.fixture(scope="session", name="build")
def message_builder() -> Callable[..., Any]:
    """Return a function that makes a message or structure, without the fields that its version lacks."""
    return build


@pytest.fixture(scope="session", name="structure")
def structure_finder() -> Callable[..., Any]:
    return structure


class Reader:
    """Sends Fetch requests of one version and keeps the session."""

    def __init__(self, it: Any, version: int = 17) -> None:
        self.it, self.version = it, version
        self.session: tuple[int, int] = (0, -1)

    def topic(self) -> dict[str, Any]:
        topic_id = self.it.cluster.state.topics["t"].topic_id
        return {"topic": "t", "topic_id": topic_id}

    def send(self, parts: Any = ((0, 0),), *, forget: Any = (), node_id: int = 1, **given: Any) -> Any:
        part = structure(Api.FETCH, self.version, "request", "FetchPartition")
        named = structure(Api.FETCH, self.version, "request", "FetchTopic")
        made = tuple(
            build(
                part,
                **{
                    "partition": index,
                    "fetch_offset": offset,
                    "partition_max_bytes": 1 << 20,
                    "log_start_offset": -1,
                }
                | given.get("of", {}).get(index, {}),
            )
            for index, offset in parts
        )
        values: dict[str, Any] = {
            "max_wait": timedelta(milliseconds=given.get("max_wait_ms", 0)),
            "min_bytes": given.get("min_bytes", 1),
            "max_bytes": given.get("max_bytes", 1 << 25),
            "isolation_level": given.get("isolation", 0),
            "topics": (build(named, partitions=made, **self.topic()),) if made else (),
            "rack_id": given.get("rack", ""),
            "session_id": self.session[0],
            "session_epoch": self.session[1],
            "replica_id": -1,
        }
        if self.version >= 7:
            gone = structure(Api.FETCH, self.version, "request", "ForgottenTopic")
            values["forgotten_topics_data"] = (
                (build(gone, partitions=tuple(forget), **self.topic()),) if forget else ()
            )
        return self.it.request(Api.FETCH, self.version, node_id, **values)

    def part(self, *args: Any, **given: Any) -> Any:
        body = self.send(*args, **given).body
        return body.responses[0].partitions[0]


@pytest.fixture(scope="session")
def reader() -> Callable[..., Reader]:
    """Return a function that makes a reader of a client's cluster."""
    return Reader
