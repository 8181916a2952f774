"""What the answers to Produce requests mean: stored, retriable, final, or to be sent to another broker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from clients.reference.errors import BrokerError, TimeoutError
from clients.reference.producer.producer import Components
from clients.reference.producer.send_handle import Delivery
from clients.reference.telemetry.trace import BatchSent, MetadataUpdated
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from suites.properties.delivery.response_editing import Meddler, Seen
from suites.properties.property import client_property, example
from suites.properties.simulation import TOPIC, Simulation

DELIVERY_TIMEOUT_MS, REQUEST_TIMEOUT_MS = 20_000, 5_000
TIMES = {
    "delivery.timeout.ms": DELIVERY_TIMEOUT_MS,
    "request.timeout.ms": REQUEST_TIMEOUT_MS,
    "retry.backoff.ms": 100,
    "retry.backoff.max.ms": 1_000,
}
RETRIABLE = st.sampled_from(
    [
        "CORRUPT_MESSAGE",
        "NOT_ENOUGH_REPLICAS",
        "NOT_LEADER_OR_FOLLOWER",
        "REQUEST_TIMED_OUT",
        "KAFKA_STORAGE_ERROR",
    ]
)
FINAL = st.sampled_from(
    ["INVALID_RECORD", "TOPIC_AUTHORIZATION_FAILED", "INVALID_TIMESTAMP", "UNSUPPORTED_FOR_MESSAGE_FORMAT"]
)
REPEATABLE = st.sampled_from(["NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT"])


def inject(
    simulation: Simulation, error: str, count: int, partition: int | None = None, **more: bool
) -> None:
    """Make the next answers to Produce requests return this error."""
    simulation.cluster.inject_error(Api.PRODUCE, BY_NAME[error].code, count, partition, **more)


def end_of(simulation: Simulation, delivery: Delivery) -> str:
    """Return the name of the error that a record ends with, or "" if it is stored."""
    assert simulation.run_until(lambda: delivery.is_done, 2 * DELIVERY_TIMEOUT_MS), "a record never ends"
    return delivery.error.name if delivery.error else ""


def values(simulation: Simulation) -> list[str | None]:
    """Return the values in the log after the first record, which warmed up the simulation."""
    return [row.value for row in simulation.log() if row.value != "warm"]


@client_property(
    "PRD-SND-02", "PRD-SND-08", error=RETRIABLE, count=st.integers(1, 4), idempotent=st.booleans()
)
def what_may_succeed_later_is_sent_again(
    components: Components, error: str, count: int, idempotent: bool
) -> None:
    """A batch that was refused with a retriable error is sent again until it is stored, once."""
    simulation = Simulation(components, TIMES | {"enable.idempotence": idempotent})
    simulation.warm()
    sent = len(simulation.told(BatchSent))
    inject(simulation, error, count)
    assert end_of(simulation, simulation.send(b"again")) == ""
    assert values(simulation) == ["again"]
    assert len(simulation.told(BatchSent)) - sent == count + 1


@client_property("PRD-IDM-05", error=REPEATABLE, count=st.integers(1, 3))
def what_was_stored_and_refused_is_stored_once(components: Components, error: str, count: int) -> None:
    """With idempotence, a batch that was stored although its answer is an error is retried, and stored once."""
    simulation = Simulation(components, TIMES)
    simulation.warm()
    inject(simulation, error, count, after_append=True)
    sent = [simulation.send(b"1"), simulation.send(b"2")]
    assert [end_of(simulation, each) for each in sent] == ["", ""]
    assert values(simulation) == ["1", "2"]
    assert [each.metadata.offset for each in sent] == [1, 2], "not the offsets of the first time"


@client_property(
    "PRD-SND-09",
    is_stored=st.booleans(),
    refusals=st.integers(1, 3),
    idempotent=st.booleans(),
)
@example(is_stored=False, refusals=2, idempotent=True)
@example(is_stored=True, refusals=2, idempotent=False)
def too_few_replicas_are_waited_for(
    components: Components, is_stored: bool, refusals: int, idempotent: bool
) -> None:
    """Too few replicas are retried, before the append and after it.

    In the second case only idempotence prevents copies.
    """
    simulation = Simulation(components, TIMES | {"enable.idempotence": idempotent})
    simulation.warm()
    error = "NOT_ENOUGH_REPLICAS_AFTER_APPEND" if is_stored else "NOT_ENOUGH_REPLICAS"
    inject(simulation, error, refusals, after_append=is_stored)
    assert end_of(simulation, simulation.send(b"waited")) == ""
    copies = refusals + 1 if is_stored and not idempotent else 1
    assert values(simulation) == ["waited"] * copies


@client_property("PRD-SND-03", error=FINAL, retries=st.sampled_from([1, 2**31 - 1]))
def what_was_refused_for_good_is_over(components: Components, error: str, retries: int) -> None:
    """An error that no retry can fix is reported by its name after one attempt, and the next record is sent."""
    simulation = Simulation(components, TIMES | {"retries": retries})
    simulation.warm()
    sent = len(simulation.told(BatchSent))
    inject(simulation, error, 1)
    assert end_of(simulation, simulation.send(b"refused")) == error
    assert len(simulation.told(BatchSent)) - sent == 1
    assert end_of(simulation, simulation.send(b"next")) == ""
    assert values(simulation) == ["next"]


@client_property("PRD-SND-02", error=RETRIABLE, retries=st.integers(0, 3))
def after_the_last_retry_it_is_over(components: Components, error: str, retries: int) -> None:
    """A batch is retried as often as ``retries`` allows, and then fails with the last error."""
    simulation = Simulation(components, TIMES | {"retries": retries, "enable.idempotence": False})
    simulation.warm()
    sent = len(simulation.told(BatchSent))
    inject(simulation, error, 10)
    assert end_of(simulation, simulation.send(b"tried")) == error
    assert len(simulation.told(BatchSent)) - sent == retries + 1


@client_property("PRD-SND-04", error=FINAL, refused=st.integers(0, 2))
def a_partition_answers_for_itself(components: Components, error: str, refused: int) -> None:
    """If some partitions of a request are refused and others stored, each record gets its own partition's result."""
    simulation = Simulation(components, TIMES | {"linger.ms": 50, "enable.idempotence": False}, partitions=3)
    simulation.warm(partition=0)
    inject(simulation, error, 1, refused)
    requests = len(simulation.requests("Produce"))
    sent = [simulation.send(b"%d" % partition, partition=partition) for partition in range(3)]
    ends = [end_of(simulation, delivery) for delivery in sent]
    assert ends == [error if partition == refused else "" for partition in range(3)], ends
    assert len(simulation.requests("Produce")) == requests + 1


@client_property("PRD-SND-05", left_out=st.integers(0, 1))
def a_partition_without_an_answer_is_not_stored(components: Components, left_out: int) -> None:
    """A partition that an answer leaves out is neither stored nor refused: it ends by its delivery timeout."""
    simulation = Simulation(components, TIMES | {"linger.ms": 50}, partitions=2)
    simulation.warm(partition=0)
    simulation.warm(partition=1)

    def without_one(_: Seen, body: Any) -> Any:
        [topic] = body.responses
        kept = tuple(each for each in topic.partition_responses if each.index != left_out)
        return replace(body, responses=(replace(topic, partition_responses=kept),))

    Meddler(simulation, {Api.PRODUCE: without_one})
    sent_ms = simulation.now_ms
    sent = [simulation.send(b"%d" % partition, partition=partition) for partition in range(2)]
    assert end_of(simulation, sent[1 - left_out]) == ""
    assert not sent[left_out].is_done
    assert end_of(simulation, sent[left_out]) == "REQUEST_TIMED_OUT"
    assert simulation.now_ms - sent_ms == DELIVERY_TIMEOUT_MS


@client_property("NET-INF-01", "PRD-FIN-01", wrong=st.integers(1, 3))
def an_answer_to_another_request_is_none(components: Components, wrong: int) -> None:
    """An answer with another correlation id is not an answer: the connection ends, and the batch is sent again."""
    simulation = Simulation(components, TIMES)
    simulation.warm()

    def praised(_: Seen, body: Any) -> Any:
        if not meddler.misnumbered:
            return body
        [topic] = body.responses
        [partition] = topic.partition_responses
        stored = replace(partition, error_code=ErrorCode.none, base_offset=0)
        return replace(body, responses=(replace(topic, partition_responses=(stored,)),))

    meddler = Meddler(simulation, {Api.PRODUCE: praised})
    meddler.misnumbered = wrong + 1
    inject(simulation, "NOT_ENOUGH_REPLICAS", wrong)
    assert end_of(simulation, simulation.send(b"stored")) == ""
    assert values(simulation) == ["stored"]


@client_property("PRD-SND-07", "NET-CON-04", lowest=st.integers(14, 20), room=st.integers(0, 3))
def without_a_common_version_nothing_is_written(components: Components, lowest: int, room: int) -> None:
    """If broker and client share no version of Produce, records fail as unsupported and the connection stays open."""
    simulation = Simulation(components, TIMES | {"enable.idempotence": False})
    _offer(simulation, lowest, lowest + room)
    assert end_of(simulation, simulation.send()) == "UNSUPPORTED_VERSION"
    assert not simulation.requests("Produce")
    assert not [event for event in simulation.trace if type(event).__name__ == "ConnectionEnded"]


@client_property("NET-CON-04", low=st.integers(3, 13), room=st.integers(0, 10))
def a_request_has_a_version_that_both_know(components: Components, low: int, room: int) -> None:
    """Requests have the highest version that the broker and the client share."""
    simulation = Simulation(components, TIMES)
    meddler = _offer(simulation, low, low + room)
    assert end_of(simulation, simulation.send()) == ""
    assert {seen.version for seen in meddler.of(Api.PRODUCE)} == {min(low + room, 13)}


def _offer(simulation: Simulation, low: int, high: int) -> Meddler:
    """Make the brokers offer these versions of Produce."""

    def narrowed(_: Seen, body: Any) -> Any:
        keys = tuple(
            replace(key, min_version=low, max_version=high) if key.api_key == Api.PRODUCE else key
            for key in body.api_keys
        )
        return replace(body, api_keys=keys)

    return Meddler(simulation, {Api.API_VERSIONS: narrowed})


@client_property("PRD-SND-12", keyed=st.lists(st.booleans(), min_size=1, max_size=6))
@example(keyed=[True, False])
def only_bad_records_are_blamed(components: Components, keyed: list[bool]) -> None:
    """If a batch has records that a compacted topic cannot have, those are named, and the rest fail because of them."""
    simulation = Simulation(components, TIMES | {"linger.ms": 50}, topic_config={"cleanup.policy": "compact"})
    simulation.warm(key=b"k")
    sent = [simulation.send(b"v", key=b"k" if has_key else None) for has_key in keyed]
    ends = [end_of(simulation, delivery) for delivery in sent]
    assert set(ends) == ({""} if all(keyed) else {"INVALID_RECORD"}), ends
    assert len(values(simulation)) == (len(keyed) if all(keyed) else 0)
    if all(keyed) or not any(keyed):
        return
    said = [str(delivery.error) for delivery in sent]
    blamed = {each.split(":")[-1] for each, has_key in zip(said, keyed, strict=True) if not has_key}
    others = {each.split(":")[-1] for each, has_key in zip(said, keyed, strict=True) if has_key}
    assert not blamed & others, f"bad records and good ones got the same error: {blamed & others}"


@client_property("PRD-SND-10", "MET-09", linger_ms=st.integers(0, 20), count=st.integers(1, 5))
def a_named_leader_is_followed_at_once(components: Components, linger_ms: int, count: int) -> None:
    """After a refusal that names the new leader, the batch is sent there in order, without a backoff.

    The client does not wait for a Metadata answer.
    """
    simulation = Simulation(components, TIMES | {"linger.ms": linger_ms, "retry.backoff.ms": 1_000}, nodes=3)
    simulation.warm()
    old, _ = simulation.cluster.leader(TOPIC, 0)
    new = next(node_id for node_id in simulation.cluster.node_ids if node_id != old)
    simulation.cluster.move_leader(TOPIC, 0, new, simulation.scheduler.now_ns)
    updates, moved_ms = len(simulation.told(MetadataUpdated)), simulation.now_ms
    sent = [simulation.send(b"%d" % number) for number in range(count)]
    assert simulation.run_until(lambda: simulation.told(BatchSent)[-1].node == new, 500), (
        "never sent to the new leader"
    )
    assert len(simulation.told(MetadataUpdated)) == updates, "the client waited for metadata"
    assert [end_of(simulation, delivery) for delivery in sent] == [""] * count
    assert simulation.now_ms - moved_ms < 500, "the client waited for its backoff"
    assert values(simulation) == [str(number) for number in range(count)]


@client_property(
    "MET-08", "PRD-SND-10", error=st.sampled_from(["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"])
)
def a_leader_error_asks_for_metadata(components: Components, error: str) -> None:
    """A broker that is not the leader makes the client request metadata within a backoff."""
    simulation = Simulation(components, TIMES)
    simulation.warm()
    simulation.run(2_000)
    questions = len(simulation.requests("Metadata"))
    inject(simulation, error, 1)
    assert end_of(simulation, simulation.send(b"again")) == ""
    assert len(simulation.requests("Metadata")) > questions, "metadata was not requested"


@client_property("PRD-SND-11", partitions=st.integers(1, 3))
def a_deleted_topic_fails_alone(components: Components, partitions: int) -> None:
    """Records for a deleted topic fail by their delivery timeout, and those for other topics are still sent."""
    simulation = Simulation(components, TIMES | {"linger.ms": 5}, partitions=partitions)
    simulation.cluster.create_topic("other", 1)
    simulation.warm(partition=0)
    simulation.warm(topic="other")
    simulation.cluster.delete_topic(TOPIC)
    sent_ms = simulation.now_ms
    gone, here = simulation.send(partition=partitions - 1), simulation.send(topic="other")
    assert end_of(simulation, here) == "" and simulation.now_ms - sent_ms < REQUEST_TIMEOUT_MS
    assert simulation.run_until(lambda: gone.is_done, DELIVERY_TIMEOUT_MS)
    assert isinstance(gone.error, TimeoutError | BrokerError), f"{gone.error}"
    assert simulation.now_ms - sent_ms == DELIVERY_TIMEOUT_MS, "neither earlier nor later"


@client_property("PRD-SND-15", "MET-05", count=st.integers(1, 4), epochs=st.integers(0, 3))
def a_recreated_topic_is_written_under_its_new_id(components: Components, count: int, epochs: int) -> None:
    """A topic that was recreated is refused under its old id, looked up, and written under the new id."""
    simulation = Simulation(components, TIMES, nodes=2)
    for number in range(epochs):
        simulation.cluster.move_leader(TOPIC, 0, simulation.cluster.node_ids[number % 2], 0)
    simulation.warm()
    simulation.cluster.recreate_topic(TOPIC)
    meddler = Meddler(simulation)
    sent = [simulation.send(b"%d" % number) for number in range(count)]
    assert [end_of(simulation, delivery) for delivery in sent] == [""] * count
    assert values(simulation) == [str(number) for number in range(count)]
    ids = [topic.topic_id for seen in meddler.of(Api.PRODUCE) for topic in seen.body.topic_data]
    assert len(dict.fromkeys(ids)) == 2, f"the ids were {dict.fromkeys(ids)}"


@client_property("PRD-IDM-06", count=st.integers(1, 3))
def a_duplicate_counts_as_stored(components: Components, count: int) -> None:
    """DUPLICATE_SEQUENCE_NUMBER means that the batch is stored, at an unknown offset."""
    simulation = Simulation(components, TIMES)
    simulation.warm()
    inject(simulation, "DUPLICATE_SEQUENCE_NUMBER", 1, after_append=True)
    sent = [simulation.send(b"%d" % number) for number in range(count)]
    assert [end_of(simulation, delivery) for delivery in sent] == [""] * count
    assert sent[0].metadata.offset == -1
    assert end_of(simulation, simulation.send(b"next")) == ""
    assert values(simulation) == [*map(str, range(count)), "next"]


@client_property("PRD-SND-16", acks=st.sampled_from(["0", "1", "all"]))
def acks_are_what_was_asked_for(components: Components, acks: str) -> None:
    """Requests carry the configured acks, and records are stored with every value of it."""
    simulation = Simulation(components, TIMES | {"acks": acks, "enable.idempotence": acks == "all"})
    meddler = Meddler(simulation)
    simulation.warm()
    assert [end_of(simulation, simulation.send(b"same")) for _ in range(2)] == ["", ""]
    simulation.run(100)
    assert values(simulation) == ["same", "same"]
    said = {"0": 0, "1": 1, "all": -1}[acks]
    assert {seen.body.acks for seen in meddler.of(Api.PRODUCE)} == {said}
