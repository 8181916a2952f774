"""What a transaction delivers: all of its records and offsets or none, whatever happens to its requests."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from clients.reference.errors import (
    ProducerFencedError,
    TransactionAbortedError,
    TransactionError,
)
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerId
from harness.wire.apis import Api
from suites.properties.property import client_property, example
from suites.properties.state_transitions.strict_coordinator import LAST_EPOCH
from suites.properties.state_transitions.transaction_bench import (
    HELD,
    LOST,
    PARTITIONS,
    TRANSACTION_APIS,
    UNANSWERED,
    Bench,
)

VERSION = st.booleans()
CONCURRENT, NOT_COORDINATOR, NOT_AVAILABLE, INVALID_RECORD = 51, 16, 15, 87
DELAYS = st.sampled_from([NOT_COORDINATOR, NOT_AVAILABLE, CONCURRENT, 14, LOST, UNANSWERED])


def texts(count: int, name: bytes = b"") -> list[bytes]:
    return [name + b"%d" % number for number in range(count)]


@client_property("PRD-TXN-01", "PRD-TXN-15", is_v2=VERSION, timeout_ms=st.integers(1, 900_000))
@example(is_v2=True, timeout_ms=12_345)
def initialization_names_the_producer(components: Components, is_v2: bool, timeout_ms: int) -> None:
    """InitProducerId has the transactional.id and transaction.timeout.ms, and comes before every record."""
    bench = Bench(components, is_v2=is_v2, transaction_timeout_ms=timeout_ms).initialized()
    [asked] = bench.asked(Api.INIT_PRODUCER_ID)
    assert asked.transactional_id == "tx" and asked.producer_id == -1
    assert asked.transaction_timeout == timedelta(milliseconds=timeout_ms)
    [lookup] = bench.asked(Api.FIND_COORDINATOR)
    assert tuple(lookup.coordinator_keys) == ("tx",) and lookup.key_type == 1
    bench.begin()
    bench.send()
    assert bench.commit().error is None
    [produced] = bench.asked(Api.PRODUCE)
    assert produced.transactional_id == "tx"


@client_property("PRD-TXN-01", "PRD-TXN-08", is_v2=VERSION, has_records=st.booleans(), commits=st.booleans())
@example(is_v2=True, has_records=True, commits=False)
@example(is_v2=False, has_records=True, commits=True)
def a_second_producer_fences_the_first(
    components: Components, is_v2: bool, has_records: bool, commits: bool
) -> None:
    """After another producer has initialized, no record of the first is committed, and it ends with a fencing error."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    if has_records:
        delivery = bench.send(b"before")
        assert bench.wait(lambda: delivery.is_done)
    bench.coordinator.take_over()
    error: Any = None
    for end in (bench.commit, bench.abort) if commits else (bench.abort,):
        try:
            bench.send(b"zombie")
            bench.rounds()
        except TransactionError:
            pass
        try:
            error = end().error or error
        except TransactionError as raised:
            error = raised
    assert not any(b"zombie" in each or b"before" in each for each in bench.coordinator.committed)
    assert isinstance(error, ProducerFencedError) or not has_records, repr(error)


@client_property(
    "PRD-TXN-04",
    is_v2=VERSION,
    plan=st.lists(st.integers(0, PARTITIONS - 1), min_size=1, max_size=8),
    is_slow=st.booleans(),
)
@example(is_v2=False, plan=[0, 1, 0], is_slow=True)
def partitions_are_added_before_they_are_produced_to(
    components: Components, is_v2: bool, plan: list[int], is_slow: bool
) -> None:
    """Without KIP-890 a partition is added before its first batch, once, and with it no partition is added."""
    bench = Bench(components, is_v2=is_v2).initialized()
    for _ in range(2):
        bench.begin()
        bench.fates[Api.ADD_PARTITIONS_TO_TXN].extend([HELD] if is_slow and not is_v2 else [])
        for partition in plan:
            bench.send(partition=partition)
            bench.rounds()
        bench.release()
        assert bench.commit().error is None
    assert not bench.coordinator.breaches, bench.coordinator.breaches
    added = [
        index
        for body in bench.asked(Api.ADD_PARTITIONS_TO_TXN)
        for topic in body.v3_and_below_topics
        for index in topic.partitions
    ]
    assert sorted(added) == ([] if is_v2 else sorted([*set(plan), *set(plan)])), added
    assert [len(each) for each in bench.coordinator.committed] == [len(plan)] * 2


@client_property(
    "PRD-TXN-07", is_v2=VERSION, count=st.integers(1, 4), broken=st.integers(0, 3), expires=st.booleans()
)
@example(is_v2=True, count=2, broken=0, expires=False)
@example(is_v2=False, count=2, broken=1, expires=True)
def a_transaction_without_one_of_its_records_is_not_committed(
    components: Components, is_v2: bool, count: int, broken: int, expires: bool
) -> None:
    """If a record fails or expires, the commit fails, no part of it is visible, and the next one works."""
    assume(broken < count)
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    sent = []
    for number, value in enumerate(texts(count)):
        if number == broken:
            bench.fates[Api.PRODUCE].extend([LOST] * 40 if expires else [INVALID_RECORD])
        if not bench.transactions.transaction.is_ending_badly:
            sent.append(bench.send(value))
            bench.wait(lambda: sent[-1].is_done, 50)
    error: Any = None
    try:
        error = bench.commit().error
    except TransactionError as raised:
        error = raised
    bench.fates[Api.PRODUCE].clear()
    assert error is not None and not error.is_fatal, repr(error)
    assert sent[broken].error is not None
    assert bench.coordinator.committed == []
    assert bench.abort().error is None
    bench.begin()
    bench.send(b"next")
    assert bench.commit().error is None
    assert bench.coordinator.committed == [[b"next"]] and not bench.coordinator.breaches


@client_property(
    "PRD-TXN-10",
    "PRD-TXN-11",
    "PRD-TXN-14",
    is_v2=VERSION,
    api=st.sampled_from([*TRANSACTION_APIS, Api.FIND_COORDINATOR]),
    delays=st.lists(DELAYS, min_size=1, max_size=4),
)
@example(is_v2=True, api=Api.END_TXN, delays=[UNANSWERED])
@example(is_v2=False, api=Api.END_TXN, delays=[UNANSWERED, NOT_COORDINATOR])
@example(is_v2=False, api=Api.ADD_PARTITIONS_TO_TXN, delays=[CONCURRENT])
def delays_do_not_disturb_a_transaction(
    components: Components, is_v2: bool, api: Api, delays: list[Any]
) -> None:
    """Requests that are lost, unanswered or refused for a while are repeated, and the transaction is committed once."""
    bench = Bench(components, is_v2=is_v2)
    bench.fates[api].extend(delays)
    bench.initialized()
    bench.begin()
    sent = [bench.send(value, partition) for partition, value in enumerate(texts(2))]
    offsets = bench.send_offsets(5)
    result = bench.commit()
    assert result.is_completed and result.error is None, result.error
    assert all(each.error is None for each in sent) and offsets.error is None
    assert sorted(bench.coordinator.committed[0]) == texts(2) and len(bench.coordinator.committed) == 1
    assert bench.coordinator.offsets == {("in", 0): 5} and not bench.coordinator.breaches


@client_property("PRD-TXN-10", is_v2=VERSION, code=st.sampled_from([NOT_COORDINATOR, NOT_AVAILABLE, LOST]))
@example(is_v2=True, code=NOT_COORDINATOR)
def a_lost_coordinator_is_looked_up(components: Components, is_v2: bool, code: Any) -> None:
    """NOT_COORDINATOR and a lost connection lead to a lookup before the same request is sent again."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    bench.send()
    bench.rounds()
    bench.fates[Api.END_TXN].append(code)
    lookups = len(bench.asked(Api.FIND_COORDINATOR))
    assert bench.commit().error is None
    assert len(bench.asked(Api.FIND_COORDINATOR)) == lookups + 1


@client_property("PRD-TXN-11", refusals=st.integers(1, 4), backoff_ms=st.sampled_from([40, 100, 1_000]))
@example(refusals=2, backoff_ms=1_000)
def the_first_partition_waits_only_briefly(components: Components, refusals: int, backoff_ms: int) -> None:
    """After CONCURRENT_TRANSACTIONS for the first partition, the next attempt follows 20 ms later."""
    bench = Bench(
        components, is_v2=False, retry_backoff_ms=backoff_ms, retry_backoff_max_ms=backoff_ms
    ).initialized()
    bench.fates[Api.ADD_PARTITIONS_TO_TXN].extend([CONCURRENT] * refusals)
    bench.begin()
    bench.send()
    assert bench.commit().error is None
    times = [
        at for at, (api, _) in zip(bench.times, bench.seen, strict=True) if api is Api.ADD_PARTITIONS_TO_TXN
    ]
    assert [later - earlier for earlier, later in pairwise(times)] == [20] * refusals


@client_property("PRD-TXN-14", is_v2=VERSION, commits=st.booleans(), losses=st.integers(1, 3))
@example(is_v2=True, commits=True, losses=1)
def a_repeated_end_is_one_end(components: Components, is_v2: bool, commits: bool, losses: int) -> None:
    """If the answer to EndTxn is lost, the same request is repeated, and its success is that of the call."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    delivery = bench.send(b"value")
    assert bench.wait(lambda: delivery.is_done)
    bench.fates[Api.END_TXN].extend([UNANSWERED] * losses)
    result = bench.commit() if commits else bench.abort()
    assert result.is_completed and result.error is None, result.error
    ends = bench.asked(Api.END_TXN)
    assert len(ends) == losses + 1
    assert {(each.producer_id, each.producer_epoch, each.committed) for each in ends} == {
        (ends[0].producer_id, ends[0].producer_epoch, commits)
    }
    ended = bench.coordinator.committed if commits else bench.coordinator.aborted
    assert ended == [[b"value"]]


@client_property("PRD-TXN-15", is_v2=VERSION)
def a_transaction_that_the_coordinator_ended_is_not_committed(components: Components, is_v2: bool) -> None:
    """If the coordinator aborts a transaction that was open too long, the producer's next end is refused."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    delivery = bench.send(b"old")
    assert bench.wait(lambda: delivery.is_done)
    bench.coordinator.take_over()  # the coordinator raises the epoch in the same way
    assert bench.commit().error is not None
    assert bench.coordinator.committed == [] and bench.coordinator.aborted == [[b"old"]]


@client_property(
    "PRD-TXN-16", is_v2=VERSION, failures=st.integers(1, 3), epoch=st.sampled_from([0, LAST_EPOCH - 1])
)
@example(is_v2=False, failures=1, epoch=0)
@example(is_v2=True, failures=2, epoch=LAST_EPOCH - 1)
def sequences_start_again_in_the_next_epoch(
    components: Components, is_v2: bool, failures: int, epoch: int
) -> None:
    """After a failed transaction the epoch is raised, by InitProducerId or by EndTxn, and sequences begin at 0."""
    bench = Bench(components, is_v2=is_v2)
    bench.coordinator.epoch = epoch - 1
    bench.initialized()
    for _ in range(failures):
        before = bench.transactions.producer_id
        bench.begin()
        stored = bench.send(b"first")
        assert bench.wait(lambda: stored.is_done)  # noqa: B023
        bench.fates[Api.PRODUCE].append(INVALID_RECORD)
        failed = bench.send(b"second")
        assert bench.wait(lambda: failed.is_done)  # noqa: B023
        assert bench.abort().error is None
        assert bench.transactions.producer_id != before
        own = bench.coordinator
        assert bench.transactions.producer_id == ProducerId(own.producer_id, own.epoch)
    bench.begin()
    sent = [bench.send(value) for value in texts(2)]
    assert bench.commit().error is None and all(each.error is None for each in sent)
    assert bench.coordinator.committed == [texts(2)] and not bench.coordinator.breaches
    bumps = [each for each in bench.asked(Api.INIT_PRODUCER_ID) if each.producer_id >= 0]
    assert len(bumps) == (0 if is_v2 else failures)


@client_property(
    "PRD-TXN-17",
    is_v2=VERSION,
    generation=st.integers(1, 100),
    member=st.text("abc", min_size=1, max_size=3),
    commits=st.booleans(),
)
def offsets_are_committed_with_the_transaction(
    components: Components, is_v2: bool, generation: int, member: str, commits: bool
) -> None:
    """Offsets name the generation and the member, and are stored exactly if the transaction is committed."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    bench.send()
    told = bench.send_offsets(9, generation_id=generation, member_id=member)
    assert bench.wait(lambda: told.is_completed) and told.error is None
    assert bench.coordinator.offsets == {}, "offsets are visible before the end"
    assert (bench.commit() if commits else bench.abort()).error is None
    assert bench.coordinator.offsets == ({("in", 0): 9} if commits else {})
    assert bench.coordinator.members == [(generation, member)] and not bench.coordinator.breaches
    assert len(bench.asked(Api.ADD_OFFSETS_TO_TXN)) == (0 if is_v2 else 1)


@client_property("PRD-TXN-18", is_v2=VERSION, unsent=st.integers(1, 4), is_lost=st.booleans())
@example(is_v2=True, unsent=2, is_lost=False)
def an_abort_drops_what_was_not_sent(components: Components, is_v2: bool, unsent: int, is_lost: bool) -> None:
    """An abort fails the records that were not sent, waits for those that were, and no part of it is visible."""
    bench = Bench(components, is_v2=is_v2, linger_ms=500).initialized()
    bench.begin()
    bench.fates[Api.PRODUCE] += [HELD, LOST] if is_lost else [HELD]
    sent = bench.send(b"sent", 1)
    bench.wait(lambda: bool([each for each in bench.waiting() if each.api is Api.PRODUCE]), 1_000)
    dropped = [bench.send(value, 0) for value in texts(unsent)]
    result = bench.called(bench.transactions.begin_abort)
    assert all(isinstance(each.error, TransactionAbortedError) for each in dropped)
    assert not sent.is_done and not result.is_completed
    bench.release()
    assert bench.wait(lambda: result.is_completed) and result.error is None
    assert sent.is_done and sent.error is None
    assert bench.coordinator.committed == [] and bench.coordinator.aborted == [[b"sent"]]


@client_property("PRD-CLS-06", "PRD-CLS-03", is_v2=VERSION, count=st.integers(0, 3), fails=st.booleans())
@example(is_v2=True, count=2, fails=False)
def close_aborts_what_is_open(components: Components, is_v2: bool, count: int, fails: bool) -> None:
    """close() sends what is buffered, aborts the open transaction, and is closed then."""
    bench = Bench(components, is_v2=is_v2, linger_ms=100).initialized()
    bench.begin()
    bench.fates[Api.PRODUCE].extend([INVALID_RECORD] if fails and count else [])
    sent = [bench.send(value, number) for number, value in enumerate(texts(count))]
    bench.core.close(bench.now_ms)
    assert bench.wait(lambda: bench.core.is_closed), "the producer is not closed"
    assert all(each.is_done for each in sent)
    assert bench.coordinator.committed == [] and bench.coordinator.open == []
    ends = bench.asked(Api.END_TXN)
    assert [each.committed for each in ends] == [False] * len(ends)
    if count and not fails:
        assert len(ends) == 1 and sorted(bench.coordinator.aborted[0]) == texts(count)
