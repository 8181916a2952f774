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
from suites.properties.property import example, law
from suites.properties.simulation import TOPIC, Bench

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


def inject(bench: Bench, error: str, count: int, partition: int | None = None, **more: bool) -> None:
    """Make the next answers to Produce requests return this error."""
    bench.cluster.inject_error(Api.PRODUCE, BY_NAME[error].code, count, partition, **more)


def end_of(bench: Bench, delivery: Delivery) -> str:
    """Return the name of the error that a record ends with, or "" if it is stored."""
    assert bench.run_until(lambda: delivery.is_done, 2 * DELIVERY_TIMEOUT_MS), "a record never ends"
    return delivery.error.name if delivery.error else ""


def values(bench: Bench) -> list[str | None]:
    """Return the values in the log after the first record, which warmed the bench."""
    return [row.value for row in bench.log() if row.value != "warm"]


@law("PRD-SND-02", "PRD-SND-08", error=RETRIABLE, count=st.integers(1, 4), idempotent=st.booleans())
def what_may_succeed_later_is_sent_again(
    components: Components, error: str, count: int, idempotent: bool
) -> None:
    """A batch that was refused with a retriable error is sent again until it is stored, once."""
    bench = Bench(components, TIMES | {"enable.idempotence": idempotent})
    bench.warm()
    sent = len(bench.told(BatchSent))
    inject(bench, error, count)
    assert end_of(bench, bench.send(b"again")) == ""
    assert values(bench) == ["again"]
    assert len(bench.told(BatchSent)) - sent == count + 1


@law("PRD-IDM-05", error=REPEATABLE, count=st.integers(1, 3))
def what_was_stored_and_refused_is_stored_once(components: Components, error: str, count: int) -> None:
    """With idempotence, a batch that was stored although its answer is an error is retried, and stored once."""
    bench = Bench(components, TIMES)
    bench.warm()
    inject(bench, error, count, after_append=True)
    sent = [bench.send(b"1"), bench.send(b"2")]
    assert [end_of(bench, each) for each in sent] == ["", ""]
    assert values(bench) == ["1", "2"]
    assert [each.metadata.offset for each in sent] == [1, 2], "not the offsets of the first time"


@law(
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
    bench = Bench(components, TIMES | {"enable.idempotence": idempotent})
    bench.warm()
    error = "NOT_ENOUGH_REPLICAS_AFTER_APPEND" if is_stored else "NOT_ENOUGH_REPLICAS"
    inject(bench, error, refusals, after_append=is_stored)
    assert end_of(bench, bench.send(b"waited")) == ""
    copies = refusals + 1 if is_stored and not idempotent else 1
    assert values(bench) == ["waited"] * copies


@law("PRD-SND-03", error=FINAL, retries=st.sampled_from([1, 2**31 - 1]))
def what_was_refused_for_good_is_over(components: Components, error: str, retries: int) -> None:
    """An error that no retry can fix is reported by its name after one attempt, and the next record is sent."""
    bench = Bench(components, TIMES | {"retries": retries})
    bench.warm()
    sent = len(bench.told(BatchSent))
    inject(bench, error, 1)
    assert end_of(bench, bench.send(b"refused")) == error
    assert len(bench.told(BatchSent)) - sent == 1
    assert end_of(bench, bench.send(b"next")) == ""
    assert values(bench) == ["next"]


@law("PRD-SND-02", error=RETRIABLE, retries=st.integers(0, 3))
def after_the_last_retry_it_is_over(components: Components, error: str, retries: int) -> None:
    """A batch is retried as often as ``retries`` allows, and then fails with the last error."""
    bench = Bench(components, TIMES | {"retries": retries, "enable.idempotence": False})
    bench.warm()
    sent = len(bench.told(BatchSent))
    inject(bench, error, 10)
    assert end_of(bench, bench.send(b"tried")) == error
    assert len(bench.told(BatchSent)) - sent == retries + 1


@law("PRD-SND-04", error=FINAL, refused=st.integers(0, 2))
def a_partition_answers_for_itself(components: Components, error: str, refused: int) -> None:
    """If some partitions of a request are refused and others stored, each record gets its own partition's result."""
    bench = Bench(components, TIMES | {"linger.ms": 50, "enable.idempotence": False}, partitions=3)
    bench.warm(partition=0)
    inject(bench, error, 1, refused)
    requests = len(bench.requests("Produce"))
    sent = [bench.send(b"%d" % partition, partition=partition) for partition in range(3)]
    ends = [end_of(bench, delivery) for delivery in sent]
    assert ends == [error if partition == refused else "" for partition in range(3)], ends
    assert len(bench.requests("Produce")) == requests + 1


@law("PRD-SND-05", left_out=st.integers(0, 1))
def a_partition_without_an_answer_is_not_stored(components: Components, left_out: int) -> None:
    """A partition that an answer leaves out is neither stored nor refused: it ends by its delivery timeout."""
    bench = Bench(components, TIMES | {"linger.ms": 50}, partitions=2)
    bench.warm(partition=0)
    bench.warm(partition=1)

    def without_one(_: Seen, body: Any) -> Any:
        [topic] = body.responses
        kept = tuple(each for each in topic.partition_responses if each.index != left_out)
        return replace(body, responses=(replace(topic, partition_responses=kept),))

    Meddler(bench, {Api.PRODUCE: without_one})
    sent_ms = bench.now_ms
    sent = [bench.send(b"%d" % partition, partition=partition) for partition in range(2)]
    assert end_of(bench, sent[1 - left_out]) == ""
    assert not sent[left_out].is_done
    assert end_of(bench, sent[left_out]) == "REQUEST_TIMED_OUT"
    assert bench.now_ms - sent_ms == DELIVERY_TIMEOUT_MS


@law("NET-INF-01", "PRD-FIN-01", wrong=st.integers(1, 3))
def an_answer_to_another_request_is_none(components: Components, wrong: int) -> None:
    """An answer with another correlation id is not an answer: the connection ends, and the batch is sent again."""
    bench = Bench(components, TIMES)
    bench.warm()

    def praised(_: Seen, body: Any) -> Any:
        if not meddler.misnumbered:
            return body
        [topic] = body.responses
        [partition] = topic.partition_responses
        stored = replace(partition, error_code=ErrorCode.none, base_offset=0)
        return replace(body, responses=(replace(topic, partition_responses=(stored,)),))

    meddler = Meddler(bench, {Api.PRODUCE: praised})
    meddler.misnumbered = wrong + 1
    inject(bench, "NOT_ENOUGH_REPLICAS", wrong)
    assert end_of(bench, bench.send(b"stored")) == ""
    assert values(bench) == ["stored"]


@law("PRD-SND-07", "NET-CON-04", lowest=st.integers(14, 20), room=st.integers(0, 3))
def without_a_common_version_nothing_is_written(components: Components, lowest: int, room: int) -> None:
    """If broker and client share no version of Produce, records fail as unsupported and the connection stays open."""
    bench = Bench(components, TIMES | {"enable.idempotence": False})
    _offer(bench, lowest, lowest + room)
    assert end_of(bench, bench.send()) == "UNSUPPORTED_VERSION"
    assert not bench.requests("Produce")
    assert not [event for event in bench.trace if type(event).__name__ == "ConnectionEnded"]


@law("NET-CON-04", low=st.integers(3, 13), room=st.integers(0, 10))
def a_request_has_a_version_that_both_know(components: Components, low: int, room: int) -> None:
    """Requests have the highest version that the broker and the client share."""
    bench = Bench(components, TIMES)
    meddler = _offer(bench, low, low + room)
    assert end_of(bench, bench.send()) == ""
    assert {seen.version for seen in meddler.of(Api.PRODUCE)} == {min(low + room, 13)}


def _offer(bench: Bench, low: int, high: int) -> Meddler:
    """Make the brokers offer these versions of Produce."""

    def narrowed(_: Seen, body: Any) -> Any:
        keys = tuple(
            replace(key, min_version=low, max_version=high) if key.api_key == Api.PRODUCE else key
            for key in body.api_keys
        )
        return replace(body, api_keys=keys)

    return Meddler(bench, {Api.API_VERSIONS: narrowed})


@law("PRD-SND-12", keyed=st.lists(st.booleans(), min_size=1, max_size=6))
@example(keyed=[True, False])
def only_bad_records_are_blamed(components: Components, keyed: list[bool]) -> None:
    """If a batch has records that a compacted topic cannot have, those are named, and the rest fail because of them."""
    bench = Bench(components, TIMES | {"linger.ms": 50}, topic_config={"cleanup.policy": "compact"})
    bench.warm(key=b"k")
    sent = [bench.send(b"v", key=b"k" if has_key else None) for has_key in keyed]
    ends = [end_of(bench, delivery) for delivery in sent]
    assert set(ends) == ({""} if all(keyed) else {"INVALID_RECORD"}), ends
    assert len(values(bench)) == (len(keyed) if all(keyed) else 0)
    if all(keyed) or not any(keyed):
        return
    said = [str(delivery.error) for delivery in sent]
    blamed = {each.split(":")[-1] for each, has_key in zip(said, keyed, strict=True) if not has_key}
    others = {each.split(":")[-1] for each, has_key in zip(said, keyed, strict=True) if has_key}
    assert not blamed & others, f"bad records and good ones got the same error: {blamed & others}"


@law("PRD-SND-10", "MET-09", linger_ms=st.integers(0, 20), count=st.integers(1, 5))
def a_named_leader_is_followed_at_once(components: Components, linger_ms: int, count: int) -> None:
    """After a refusal that names the new leader, the batch is sent there in order, without a backoff.

    The client does not wait for a Metadata answer.
    """
    bench = Bench(components, TIMES | {"linger.ms": linger_ms, "retry.backoff.ms": 1_000}, nodes=3)
    bench.warm()
    old, _ = bench.cluster.leader(TOPIC, 0)
    new = next(node_id for node_id in bench.cluster.node_ids if node_id != old)
    bench.cluster.move_leader(TOPIC, 0, new, bench.scheduler.now_ns)
    updates, moved_ms = len(bench.told(MetadataUpdated)), bench.now_ms
    sent = [bench.send(b"%d" % number) for number in range(count)]
    assert bench.run_until(lambda: bench.told(BatchSent)[-1].node == new, 500), "never sent to the new leader"
    assert len(bench.told(MetadataUpdated)) == updates, "the client waited for metadata"
    assert [end_of(bench, delivery) for delivery in sent] == [""] * count
    assert bench.now_ms - moved_ms < 500, "the client waited for its backoff"
    assert values(bench) == [str(number) for number in range(count)]


@law("MET-08", "PRD-SND-10", error=st.sampled_from(["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"]))
def a_leader_error_asks_for_metadata(components: Components, error: str) -> None:
    """A broker that is not the leader makes the client request metadata within a backoff."""
    bench = Bench(components, TIMES)
    bench.warm()
    bench.run(2_000)
    questions = len(bench.requests("Metadata"))
    inject(bench, error, 1)
    assert end_of(bench, bench.send(b"again")) == ""
    assert len(bench.requests("Metadata")) > questions, "metadata was not requested"


@law("PRD-SND-11", partitions=st.integers(1, 3))
def a_deleted_topic_fails_alone(components: Components, partitions: int) -> None:
    """Records for a deleted topic fail by their delivery timeout, and those for other topics are still sent."""
    bench = Bench(components, TIMES | {"linger.ms": 5}, partitions=partitions)
    bench.cluster.create_topic("other", 1)
    bench.warm(partition=0)
    bench.warm(topic="other")
    bench.cluster.delete_topic(TOPIC)
    sent_ms = bench.now_ms
    gone, here = bench.send(partition=partitions - 1), bench.send(topic="other")
    assert end_of(bench, here) == "" and bench.now_ms - sent_ms < REQUEST_TIMEOUT_MS
    assert bench.run_until(lambda: gone.is_done, DELIVERY_TIMEOUT_MS)
    assert isinstance(gone.error, TimeoutError | BrokerError), f"{gone.error}"
    assert bench.now_ms - sent_ms == DELIVERY_TIMEOUT_MS, "neither earlier nor later"


@law("PRD-SND-15", "MET-05", count=st.integers(1, 4), epochs=st.integers(0, 3))
def a_recreated_topic_is_written_under_its_new_id(components: Components, count: int, epochs: int) -> None:
    """A topic that was recreated is refused under its old id, looked up, and written under the new id."""
    bench = Bench(components, TIMES, nodes=2)
    for number in range(epochs):
        bench.cluster.move_leader(TOPIC, 0, bench.cluster.node_ids[number % 2], 0)
    bench.warm()
    bench.cluster.recreate_topic(TOPIC)
    meddler = Meddler(bench)
    sent = [bench.send(b"%d" % number) for number in range(count)]
    assert [end_of(bench, delivery) for delivery in sent] == [""] * count
    assert values(bench) == [str(number) for number in range(count)]
    ids = [topic.topic_id for seen in meddler.of(Api.PRODUCE) for topic in seen.body.topic_data]
    assert len(dict.fromkeys(ids)) == 2, f"the ids were {dict.fromkeys(ids)}"


@law("PRD-IDM-06", count=st.integers(1, 3))
def a_duplicate_counts_as_stored(components: Components, count: int) -> None:
    """DUPLICATE_SEQUENCE_NUMBER means that the batch is stored, at an unknown offset."""
    bench = Bench(components, TIMES)
    bench.warm()
    inject(bench, "DUPLICATE_SEQUENCE_NUMBER", 1, after_append=True)
    sent = [bench.send(b"%d" % number) for number in range(count)]
    assert [end_of(bench, delivery) for delivery in sent] == [""] * count
    assert sent[0].metadata.offset == -1
    assert end_of(bench, bench.send(b"next")) == ""
    assert values(bench) == [*map(str, range(count)), "next"]


@law("PRD-SND-16", acks=st.sampled_from(["0", "1", "all"]))
def acks_are_what_was_asked_for(components: Components, acks: str) -> None:
    """Requests carry the configured acks, and records are stored with every value of it."""
    bench = Bench(components, TIMES | {"acks": acks, "enable.idempotence": acks == "all"})
    meddler = Meddler(bench)
    bench.warm()
    assert [end_of(bench, bench.send(b"same")) for _ in range(2)] == ["", ""]
    bench.run(100)
    assert values(bench) == ["same", "same"]
    said = {"0": 0, "1": 1, "all": -1}[acks]
    assert {seen.body.acks for seen in meddler.of(Api.PRODUCE)} == {said}
