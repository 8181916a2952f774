"""Every client's consumer on a real broker: it does what the commands say, and reports what its client did."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clients.reference import KafkaProducer
from harness.brokers.local import LOCAL
from harness.model.consumer_contract import (
    EARLIEST,
    LATEST,
    Assign,
    Commit,
    ConsumerError,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    Pause,
    Place,
    Position,
    Process,
    RecordsConsumed,
    Resume,
    Seek,
    Subscribe,
    Throw,
    Unsubscribe,
    Wakeup,
)
from harness.model.contract import OpComplete, Stats, UnknownCommand
from harness.plugins import registry
from harness.workloads.produce.commands import Produce
from testkit.client_hangs import assert_not_hanging
from testkit.client_member import Member

pytestmark = [pytest.mark.jvm, pytest.mark.long("consumes with real clients")]

BROKER = "4.3.1x1"
PARTITIONS, EACH = 3, 100
SETTINGS = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 500,
    "max.poll.interval.ms": 30_000,
    "request.timeout.ms": 5_000,
    "metadata.max.age.ms": 1_000,
    "fetch.max.wait.ms": 100,
    "retry.backoff.ms": 100,
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A broker, and functions that create a topic and fill it."""
    numbers = itertools.count(1)
    with asyncio.Runner() as loop:
        context = LOCAL.cluster(BROKER, lanes=1, log_dir=tmp_path_factory.mktemp("logs"), is_guarded=False)
        cluster = loop.run(context.__aenter__())
        servers = ",".join(f"{host}:{port}" for host, port in cluster.internal_addresses.values())
        with KafkaProducer({"bootstrap.servers": servers, "acks": "all"}) as producer:

            def produce(topic: str, first: int, count: int) -> None:
                for partition, n in itertools.product(range(PARTITIONS), range(first, first + count)):
                    key, value = f"k{n}".encode(), f"{partition}-{n}".encode()
                    producer.send(topic, value, key, partition=partition)
                producer.flush()

            def topic(prefix: str) -> str:
                name = f"{prefix}-{next(numbers)}"
                loop.run(cluster.create_topic(name, PARTITIONS))
                produce(name, 0, EACH)
                return name

            try:
                yield SimpleNamespace(servers=servers, produce=produce, topic=topic)
            finally:
                loop.run(context.__aexit__(None, None, None))


@pytest.fixture
def member(
    each_client: tuple[str, str], kafka: SimpleNamespace, tmp_path: Path
) -> Iterator[Callable[..., Member]]:
    """Return a function that starts a configured consumer of the client."""
    name, version = each_client
    launch = registry.client(name).install(version)
    begun: list[subprocess.Popen[bytes]] = []

    def start(**settings: Any) -> Member:
        env = {**os.environ, **launch.env, "PYTHONFAULTHANDLER": "1"}
        log = tmp_path / f"{len(begun)}.log"
        with log.open("wb") as errors:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
            begun.append(subprocess.Popen(launch.argv, bufsize=0, env=env, cwd=launch.folder, **pipes))
        member = Member(begun[-1], lambda: assert_not_hanging(name, version, member.process, log))
        named = {key.replace("_", "."): value for key, value in settings.items()}
        config = {"bootstrap.servers": kafka.servers, **SETTINGS, **named}
        member.configure({key: value for key, value in config.items() if value is not None})
        return member

    yield start
    for process in begun:
        process.kill()
        with process:
            pass


#: Clients whose calls cannot commit in these ways, and answer ``unsupported``.
CANNOT_COMMIT = {
    "confluent-kafka-go": {"async"},  # CommitOffsets waits for the result
    "kafka-go": {"async", "auto"},  # CommitOffsets of a generation waits, and nothing commits by itself
    "sarama": {"async"},  # the session's Commit waits for the response
}
#: Versions of sarama without ``ConsumerGroupSession.Commit``, which was added in 1.27.
WITHOUT_COMMIT = {"1.23.1"}
#: Versions of rdkafka that never tell the result of a commit that does not wait for it.
SILENT_COMMITS = {"0.36.2", "0.39.0"}
#: Clients that do not call a listener, or that do not receive its error.
IGNORES_LISTENERS = {
    "confluent-kafka-go",
    "franz-go",
    "kafka-go",
    "kafkajs",
    "platformatic-kafka",
    "rdkafka",
}
#: Client -> its versions whose close leaves the group without a call of the listener. Java's has called it since 2.4,
#: kafka-python's since 3.0, aiokafka's does not.
CLOSES_SILENTLY = {
    "aiokafka": {"0.8.1", "0.10.0", "0.11.0", "0.12.0", "0.14.0"},
    "java": {"2.1.1"},
    "kafka-python": {"1.4.7", "2.0.2", "2.0.6", "2.2.21", "2.3.3"},
}
#: Clients that read records again which were committed before a rebalance ended. Seen with 2.12.1, whose stream takes
#: up all partitions again after a join.
READS_AGAIN = {"platformatic-kafka"}
#: Clients, or their programs, that ask for the end of a partition within the seek. Others do it in a later poll.
SEEKS_AT_ONCE = {"franz-go", "kafkajs"}


def cannot_commit(name: str, version: str) -> set[str]:
    lacks = CANNOT_COMMIT.get(name, set())
    if name == "rdkafka" and version in SILENT_COMMITS:
        return lacks | {"async"}
    return lacks | {"sync", "sync-first"} if name == "sarama" and version in WITHOUT_COMMIT else lacks


def usual_commit(name: str, version: str) -> str:
    return "none" if "sync" in cannot_commit(name, version) else "sync"


def expected(first: int, end: int) -> dict[int, list[tuple[int, str]]]:
    return {part: [(n, f"{part}-{n}") for n in range(first, end)] for part in range(PARTITIONS)}


def places(topic: str, *partitions: int) -> list[Place]:
    return [Place(topic, partition) for partition in partitions or range(PARTITIONS)]


def count(records: dict[int, list[Any]]) -> int:
    return sum(map(len, records.values()))


@pytest.mark.needs("group")
@pytest.mark.parametrize("how", ["sync", "async", "sync-first", "auto"])
def test_a_member_reads_and_commits_and_the_next_one_continues(member, kafka, each_client, how):
    if how in cannot_commit(*each_client):
        refuses(member, kafka, how)
        return
    topic, is_auto = kafka.topic("read"), how == "auto"
    settings = {"group_id": topic, "enable_auto_commit": is_auto, "auto_commit_interval_ms": 200}
    first = member(**settings)
    first.done(Subscribe, topics=[topic], commit=how)
    first.until_true(lambda: count(first.records()) >= PARTITIONS * EACH)
    first.until_true(lambda: is_auto or first.committed() == dict.fromkeys(range(PARTITIONS), EACH))
    assert first.records() == expected(0, EACH)
    assert {event.how for event in first.of(OffsetsCommitted)} | {how} == {how, how.removesuffix("-first")}
    assert_commits_follow_their_records(first, before=how != "sync-first")
    closing = first.close()
    assert [event for event in closing if isinstance(event, PartitionsLost)] == []
    name, version = each_client
    assert bool(first.owned()) == (version in CLOSES_SILENTLY.get(name, ()))
    kafka.produce(topic, EACH, 5)
    second = member(**settings)
    second.done(Subscribe, topics=[topic], commit=how)
    second.until_true(lambda: count(second.records()) >= PARTITIONS * 5)
    second.close()
    assert second.records() == expected(EACH, EACH + 5)


def refuses(member: Callable[..., Member], kafka: SimpleNamespace, how: str) -> None:
    """The client says that it cannot commit so, instead of not committing."""
    topic = kafka.topic("refused")
    alone = member(group_id=topic, enable_auto_commit=how == "auto")
    assert isinstance(alone.call(Subscribe, topics=[topic], commit=how), UnknownCommand)
    alone.close()


def assert_commits_follow_their_records(member: Member, *, before: bool) -> None:
    """What a commit covers was reported ``before`` it, or after it if the member commits first."""
    end: dict[int, int] = {}
    for event in member.events:
        if isinstance(event, RecordsConsumed):
            end |= {part.partition: part.max_offset + 1 for part in event.partitions}
        elif isinstance(event, OffsetsCommitted):
            for at in event.offsets:
                assert (at.offset <= end.get(at.partition, 0)) == before, event


@pytest.mark.needs("assign")
def test_assigned_partitions_are_read_from_their_offsets(member, kafka):
    topic = kafka.topic("assign")
    alone = member()
    wanted = [Position(topic, 0, 90), Position(topic, 1, EARLIEST), Position(topic, 2, LATEST)]
    alone.done(Assign, partitions=wanted)
    alone.until_true(lambda: count(alone.records()) >= 10 + 2 * EACH)
    alone.close()
    read = alone.records()
    assert [offset for offset, _ in read[0]] == list(range(90, EACH))
    assert [offset for offset, _ in read[1]] == [offset for offset, _ in read[2]] == list(range(EACH))


@pytest.mark.needs("group", "seek")
def test_a_seek_sets_the_position(member, kafka, each_client):
    topic = kafka.topic("seek")
    alone = member(group_id=topic)
    alone.done(Subscribe, topics=[topic], commit="none")
    alone.until_true(lambda: count(alone.records()) >= PARTITIONS * EACH)
    begin = len(alone.events)
    alone.done(Seek, position=Position(topic, 1, 60))
    alone.until_true(lambda: count(alone.records(begin)) >= EACH - 60)
    assert [offset for offset, _ in alone.records(begin)[1]] == list(range(60, EACH))
    alone.done(Commit)
    assert alone.committed() == dict.fromkeys(range(PARTITIONS), EACH)
    begin = len(alone.events)
    alone.done(Seek, position=Position(topic, 2, EARLIEST))
    alone.until_true(lambda: count(alone.records(begin)) >= EACH)
    alone.done(Seek, position=Position(topic, 0, LATEST))
    if each_client[0] not in SEEKS_AT_ONCE:
        alone.until(bool, Stats)
        alone.until(bool, Stats)
    kafka.produce(topic, EACH, 1)
    alone.until_true(lambda: count(alone.records(begin)) >= EACH + PARTITIONS)
    alone.close()
    read = alone.records(begin)
    assert {part: [offset for offset, _ in rows] for part, rows in read.items()} == {
        0: [EACH],
        1: [EACH],
        2: list(range(EACH + 1)),
    }


@pytest.mark.needs("group", "pause")
def test_a_paused_partition_is_not_read_until_it_is_resumed(member, kafka):
    topic = kafka.topic("pause")
    alone = member(group_id=topic)
    alone.done(Subscribe, topics=[topic], commit="none")
    alone.until_true(lambda: count(alone.records()) >= PARTITIONS * EACH)
    alone.done(Pause, partitions=places(topic, 0))
    begin = len(alone.events)
    kafka.produce(topic, EACH, 20)
    alone.until_true(lambda: count(alone.records(begin)) >= 2 * 20)
    alone.until(bool, Stats)
    alone.until(bool, Stats)
    assert sorted(alone.records(begin)) == [1, 2]
    alone.done(Resume, partitions=places(topic, 0))
    alone.until_true(lambda: count(alone.records(begin)) >= 3 * 20)
    alone.close()
    assert alone.records(begin) == expected(EACH, EACH + 20)


@pytest.mark.needs("group")
def test_a_second_member_joins_and_leaves(member, kafka, each_client):
    shared_by_two(member, kafka, each_client, {"partition_assignment_strategy": "range"})


@pytest.mark.needs("cooperative")
def test_a_second_member_joins_and_leaves_without_a_pause(member, kafka, each_client):
    settings = {"partition_assignment_strategy": "cooperative-sticky"}
    shared_by_two(member, kafka, each_client, settings)


@pytest.mark.needs("consumer_protocol")
def test_members_of_the_consumer_protocol_share_the_partitions(member, kafka, each_client):
    settings = {"group_protocol": "consumer", "session_timeout_ms": None, "heartbeat_interval_ms": None}
    shared_by_two(member, kafka, each_client, settings)


def shared_by_two(member, kafka, each_client, settings):
    topic, how = kafka.topic("members"), usual_commit(*each_client)
    first, second = (member(group_id=topic, **settings) for _ in range(2))
    first.done(Subscribe, topics=[topic], commit=how)
    first.until_true(lambda: first.owned() == set(places(topic)))
    first.until_true(lambda: count(first.records()) >= PARTITIONS * EACH)
    second.done(Subscribe, topics=[topic], commit=how)
    second.until_true(lambda: len(second.owned()) in (1, 2))
    first.until_true(lambda: first.owned() | second.owned() == set(places(topic)))
    first.until_true(lambda: not first.owned() & second.owned())
    assert first.of(PartitionsRevoked)
    kafka.produce(topic, EACH, 10)
    of_second = len(second.owned())
    second.until_true(lambda: count(second.records()) >= 10 * of_second)
    first.until_true(lambda: count(first.records()) >= PARTITIONS * EACH + 10 * (PARTITIONS - of_second))
    assert not any(isinstance(event, PartitionsLost) for event in second.close())
    first.until_true(lambda: first.owned() == set(places(topic)))
    kafka.produce(topic, EACH + 10, 1)
    first.until_true(lambda: all(EACH + 10 in dict(rows) for rows in first.records().values()))
    first.close()
    read = [row for one in (first, second) for rows in one.records().values() for row in rows]
    once = set(read) if how == "none" or each_client[0] in READS_AGAIN else read
    assert sorted(once) == sorted(row for rows in expected(0, EACH + 11).values() for row in rows)


@pytest.mark.needs("pattern")
def test_a_pattern_finds_topics(member, kafka):
    topic = kafka.topic("pattern-a")
    alone = member(group_id=topic)
    alone.done(Subscribe, pattern="^" + topic + "(-more)?$")
    alone.until_true(lambda: count(alone.records()) >= PARTITIONS * EACH)
    alone.close()
    assert {part.topic for event in alone.of(RecordsConsumed) for part in event.partitions} == {topic}


@pytest.mark.needs("group", "wakeup")
def test_a_wakeup_is_an_error_of_poll(member, kafka):
    topic = kafka.topic("wakeup")
    alone = member(group_id=topic)
    alone.done(Subscribe, topics=[topic])
    alone.until_true(lambda: count(alone.records()) >= PARTITIONS * EACH)
    number = alone.ask(Wakeup)
    # The poll may end before the program has answered the command, or after that.
    alone.until_true(lambda: any(event.id == number for event in alone.of(OpComplete)))
    alone.until_true(lambda: any(event.call == "poll" for event in alone.of(ConsumerError)))
    assert [event.outcome for event in alone.of(OpComplete) if event.id == number] == [["ok"]]
    kafka.produce(topic, EACH, 1)
    alone.until_true(lambda: count(alone.records()) >= PARTITIONS * (EACH + 1))
    alone.close()


@pytest.mark.needs("group")
def test_a_member_gives_up_its_subscription_and_subscribes_again(member, kafka, each_client):
    how = usual_commit(*each_client)
    topic, other = kafka.topic("first"), kafka.topic("other")
    alone = member(group_id=topic)
    alone.done(Subscribe, topics=[topic], commit=how)
    alone.until_true(lambda: count(alone.records()) >= PARTITIONS * EACH)
    alone.done(Unsubscribe)
    alone.done(Subscribe, topics=[other], commit=how)
    alone.until_true(lambda: set(places(other)) <= alone.owned())
    alone.until_true(lambda: count(alone.records()) >= 2 * PARTITIONS * EACH)
    alone.close()


@pytest.mark.needs("group")
def test_a_listener_that_throws_is_survived_and_work_takes_its_time(member, kafka, each_client):
    topic = kafka.topic("throw")
    alone = member(group_id=topic)
    throws = alone.call(Throw, callback="assigned", times=1)
    assert isinstance(throws, UnknownCommand) == (each_client[0] in IGNORES_LISTENERS)
    alone.done(Process, processing_ms=1)
    alone.done(Subscribe, topics=[topic], processing_ms=50)
    alone.until_true(lambda: bool(alone.of(PartitionsAssigned)))
    taken = alone.until(bool, RecordsConsumed)
    assert taken.mono_ns - taken.polled_ns >= 50_000_000
    alone.close()


@pytest.mark.needs("consumer")
def test_commands_of_a_producer_are_not_for_a_consumer(member):
    alone = member(group_id="none")
    answer = alone.call(Produce, topic="t", first=0, keys=[None], values=["v"], partitions=None)
    assert isinstance(answer, UnknownCommand)
    alone.close()
