from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.create_topics.v7 import CreateTopicsResponse
from kio.schema.create_topics.v7.response import CreatableTopicResult
from kio.schema.errors import ErrorCode
from kio.schema.list_offsets.v7 import ListOffsetsRequest, ListOffsetsResponse
from kio.schema.list_offsets.v7.response import ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from kio.schema.metadata.v12 import MetadataResponse
from kio.schema.metadata.v12.response import (
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta, i64

from harness.brokers.admin import Admin, metadata_request
from harness.brokers.connection import BrokerConnection, NotYet, require
from harness.brokers.deadline import insist
from harness.brokers.readiness import assert_ready
from harness.model.errors import KafkaTrialError
from harness.wire.apis import Api
from harness.wire.error_table import ERRORS
from harness.wire.messages import encode_response
from testkit.codes import coded, raises_code

NO_DELAY = i32Timedelta.parse(timedelta(0))
OURS = "our-cluster"


def metadata(
    brokers: dict[int, tuple[str, int]], topics: tuple[MetadataResponseTopic, ...] = ()
) -> MetadataResponse:
    return MetadataResponse(
        throttle_time=NO_DELAY,
        brokers=tuple(
            MetadataResponseBroker(node_id=BrokerId(n), host=host, port=i32(port))
            for n, (host, port) in brokers.items()
        ),
        cluster_id=OURS,
        topics=topics,
    )


def topic(name: str, leaders: dict[int, int], error: ErrorCode = ErrorCode.none) -> MetadataResponseTopic:
    partitions = tuple(
        MetadataResponsePartition(
            error_code=ErrorCode.none if leader >= 0 else ErrorCode.leader_not_available,
            partition_index=i32(partition),
            leader_id=BrokerId(leader),
        )
        for partition, leader in leaders.items()
    )
    return MetadataResponseTopic(error_code=error, name=TopicName(name), topic_id=None, partitions=partitions)


def created(error: ErrorCode, message: str | None = None) -> CreateTopicsResponse:
    result = CreatableTopicResult(
        name=TopicName("t"), topic_id=None, error_code=error, error_message=message, configs=None
    )
    return CreateTopicsResponse(throttle_time=NO_DELAY, topics=(result,))


def talk(broker: Any, steps: Callable[[BrokerConnection], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with broker.listening() as address:
            connection = BrokerConnection(address)
            try:
                await steps(connection)
            finally:
                connection.close()

    asyncio.run(whole())


def test_concurrent_requests_get_their_own_answers(scripted: Any) -> None:
    broker = scripted(
        {Api.METADATA: lambda asked: metadata({}, tuple(topic(t.name, {}) for t in asked.topics))}
    )

    async def steps(connection: BrokerConnection) -> None:
        names = [f"t{n}" for n in range(20)]
        answers = await asyncio.gather(
            *(connection.request(metadata_request(name), MetadataResponse) for name in names)
        )
        assert [answer.topics[0].name for answer in answers] == names

    talk(broker, steps)
    assert broker.connections == 1


def test_the_next_request_replaces_a_closed_connection(scripted: Any) -> None:
    answers = iter([None, metadata({1: ("h", 1)})])
    broker = scripted({Api.METADATA: lambda _asked: next(answers)})

    async def steps(connection: BrokerConnection) -> None:
        with raises_code(NotYet, "connection-closed"):
            await connection.request(metadata_request(None), MetadataResponse)
        assert (await connection.request(metadata_request(None), MetadataResponse)).brokers[0].node_id == 1

    talk(broker, steps)
    assert broker.connections == 2


def test_a_wrong_correlation_id_drops_the_connection(scripted: Any) -> None:
    answers = iter([encode_response(metadata({}), 77), metadata({})])
    broker = scripted({Api.METADATA: lambda _asked: next(answers)})

    async def steps(connection: BrokerConnection) -> None:
        with raises_code(
            NotYet, "answer-unreadable", why=coded("correlation-id-mismatch", correlation_id=77)
        ):
            await connection.request(metadata_request(None), MetadataResponse)
        await connection.request(metadata_request(None), MetadataResponse)

    talk(broker, steps)
    assert broker.connections == 2


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x02hi"])
def test_an_unreadable_answer_is_retriable(scripted: Any, garbage: bytes) -> None:
    async def steps(connection: BrokerConnection) -> None:
        with pytest.raises(NotYet):
            await connection.request(metadata_request(None), MetadataResponse)

    talk(scripted({Api.METADATA: lambda _asked: garbage}), steps)


def test_a_refused_connection_is_retriable() -> None:
    async def whole() -> None:
        with raises_code(NotYet, "connection-failed", request="Metadata to 127.0.0.1:9"):
            await BrokerConnection(("127.0.0.1", 9)).request(metadata_request(None), MetadataResponse)

    asyncio.run(whole())


def test_a_broker_that_is_too_old_is_a_final_error(scripted: Any) -> None:
    async def steps(connection: BrokerConnection) -> None:
        with raises_code(
            KafkaTrialError, "request-not-supported", why=coded("no-common-version", api="Metadata")
        ) as raised:
            await connection.request(metadata_request(None), MetadataResponse)
        assert not isinstance(raised.value, NotYet)

    talk(scripted({}, highest=11), steps)


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_only_retriable_error_codes_are_retriable(code: int) -> None:
    if code == 0:
        require(code, "asking")
        return
    with raises_code(KafkaTrialError, "broker-error", what="asking", error=ERRORS[code].name) as raised:
        require(code, "asking")
    assert isinstance(raised.value, NotYet) == ERRORS[code].retriable


class Skipped(selectors.DefaultSelector):
    """A selector that skips each wait, and the time that results."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now_s += timeout or 0
        return super().select(0)


def skipping() -> asyncio.AbstractEventLoop:
    """Return an event loop whose time only passes while it would wait, so a busy machine cannot use up a timeout."""
    selector = Skipped()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now_s  # type: ignore[method-assign]
    return loop


def test_retries_end_at_the_deadline() -> None:
    tried = 0

    async def attempt() -> None:
        nonlocal tried
        tried += 1
        raise NotYet("made-up", "reason {tried}", tried=tried)

    with (
        asyncio.Runner(loop_factory=skipping) as runner,
        raises_code(KafkaTrialError, "deadline-passed", what="waiting", timeout_s=0.05),
    ):
        runner.run(insist("waiting", 0.05, attempt))
    # After pauses of 5, 10 and 20 ms. The next one would end after the deadline.
    assert tried == 4


def test_a_final_error_ends_the_retries() -> None:
    async def attempt() -> None:
        raise KafkaTrialError("made-up", "never")

    with raises_code(KafkaTrialError, "made-up"):
        asyncio.run(insist("waiting", 30, attempt))


def test_a_ready_broker_names_the_whole_cluster_at_its_addresses(scripted: Any) -> None:
    two = {1: ("127.0.0.1", 1001), 2: ("127.0.0.1", 1002)}
    broker = scripted({Api.METADATA: lambda _asked: metadata(two)})

    async def whole() -> None:
        async with broker.listening() as address:
            await assert_ready(address, OURS, two)
            await assert_ready(address, OURS, {1: two[1]})  # node 2 was killed and is still listed
            with raises_code(NotYet, "broker-not-named", missing=(3,)):
                await assert_ready(address, OURS, {**two, 3: ("127.0.0.1", 1003)})
            with raises_code(KafkaTrialError, "wrong-advertised-address", node_id=2):
                await assert_ready(address, OURS, {**two, 2: ("127.0.0.1", 1009)})
            with raises_code(KafkaTrialError, "foreign-cluster", cluster_id="our-cluster"):
                await assert_ready(address, "another", two)

    asyncio.run(whole())


def administer(broker: Any, steps: Callable[[Admin], Awaitable[None]], *others: Any) -> None:
    """Run ``steps`` with an Admin of these brokers, whose node ids count from 1."""

    async def whole() -> None:
        async with AsyncExitStack() as stack:
            listening = [await stack.enter_async_context(each.listening()) for each in (broker, *others)]
            admin = Admin(lambda: dict(enumerate(listening, 1)))
            stack.callback(admin.close)
            await steps(admin)

    asyncio.run(whole())


def test_a_retried_creation_accepts_an_existing_topic(scripted: Any) -> None:
    answers = iter([None, created(ErrorCode.topic_already_exists)])
    broker = scripted(
        {
            Api.CREATE_TOPICS: lambda _asked: next(answers),
            Api.METADATA: lambda _asked: metadata({}, (topic("t", {}),)),
        }
    )
    administer(broker, lambda admin: admin.create_topic("t", 0))
    assert next(answers, "exhausted") == "exhausted"


def test_creating_an_existing_topic_is_refused(scripted: Any) -> None:
    broker = scripted(
        {Api.CREATE_TOPICS: lambda _asked: created(ErrorCode.topic_already_exists, "it exists")}
    )

    async def steps(admin: Admin) -> None:
        with raises_code(KafkaTrialError, "broker-error", error="TOPIC_ALREADY_EXISTS"):
            await admin.create_topic("t", 3)

    administer(broker, steps)


def test_a_partition_without_a_leader_is_retriable(scripted: Any) -> None:
    broker = scripted({Api.METADATA: lambda _asked: metadata({}, (topic("t", {0: 1, 1: -1}),))})

    async def steps(admin: Admin) -> None:
        with raises_code(NotYet, "broker-error", error="LEADER_NOT_AVAILABLE"):
            await admin.partitions("t")

    administer(broker, steps)


def test_all_brokers_must_agree_on_a_leader(scripted: Any) -> None:
    """With outdated metadata the log would be read from the former leader, without the latest records."""
    behind, ahead = (
        scripted({Api.METADATA: lambda _asked, leader=leader: metadata({}, (topic("t", {0: leader}),))})
        for leader in (1, 2)
    )

    async def steps(admin: Admin) -> None:
        with raises_code(NotYet, "leader-disputed", topic="t"):
            await admin.leader("t", 0)
        behind.handlers[Api.METADATA] = ahead.handlers[Api.METADATA]
        assert await admin.leader("t", 0) == 2

    administer(behind, steps, ahead)


def test_the_log_end_is_asked_from_the_leader(scripted: Any) -> None:
    """With the replica id for debugging any replica answers, and the log of a follower can be shorter."""

    def offsets(asked: ListOffsetsRequest) -> ListOffsetsResponse:
        [wanted] = asked.topics
        code = ErrorCode.none if asked.replica_id == -2 else ErrorCode.not_leader_or_follower
        answer = ListOffsetsPartitionResponse(partition_index=i32(0), error_code=code, offset=i64(7))
        return ListOffsetsResponse(
            throttle_time=NO_DELAY, topics=(ListOffsetsTopicResponse(name=wanted.name, partitions=(answer,)),)
        )

    follower = scripted(
        {Api.METADATA: lambda _asked: metadata({}, (topic("t", {0: 1}),)), Api.LIST_OFFSETS: offsets}
    )

    async def steps(admin: Admin) -> None:
        with raises_code(NotYet, "broker-error", error="NOT_LEADER_OR_FOLLOWER"):
            await admin.log_end("t", 0)

    administer(follower, steps)


def test_without_a_running_node_an_admin_fails_at_once() -> None:
    async def whole() -> None:
        with raises_code(KafkaTrialError, "no-broker-up"):
            await Admin(dict).create_topic("t", 1)

    asyncio.run(whole())
