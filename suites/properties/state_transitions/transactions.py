"""The state of transactions: which calls are allowed, which requests follow, and which errors leave which choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from clients.reference.errors import (
    FatalTransactionError,
    IllegalStateError,
    ProducerFencedError,
    TransactionError,
)
from clients.reference.producer.producer import Components
from clients.reference.states import TransactionEvent, TransactionState
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from suites.checks.trace.transition import Transitions
from suites.oracle import MACHINES
from suites.properties.property import client_property, example
from suites.properties.state_transitions.transaction_bench import (
    HELD,
    TRANSACTION_APIS,
    UNANSWERED,
    Bench,
)

ORACLE = MACHINES["transaction"]
VERSION = st.booleans()
CALLS = ("initialize", "begin", "commit", "abort", "send", "offsets")
#: The states in which the application may make each call, from the documentation of Kafka's Producer.
ALLOWED = {
    "initialize": {"UNINITIALIZED"},
    "begin": {"READY"},
    "commit": {"IN_TRANSACTION"},
    "abort": {"IN_TRANSACTION", "ABORTABLE_ERROR"},
    "send": {"IN_TRANSACTION"},
    "offsets": {"IN_TRANSACTION"},
}
INVALID_RECORD, PRODUCER_FENCED = 87, 90
#: Error codes by what must follow, from PRD-TXN-08 and PRD-TXN-09.
FATAL = {
    Api.ADD_PARTITIONS_TO_TXN: (53, 48, 49, 90, 47),
    Api.ADD_OFFSETS_TO_TXN: (53, 48, 49, 90, 47),
    Api.TXN_OFFSET_COMMIT: (53, 90, 47),
    Api.END_TXN: (53, 48, 49, 90, 47),
}
ABORTABLE = {
    Api.ADD_PARTITIONS_TO_TXN: (29, 120),
    Api.ADD_OFFSETS_TO_TXN: (30, 120),
    Api.TXN_OFFSET_COMMIT: (30, 120, 22, 25, 82),
    Api.END_TXN: (120,),
    Api.PRODUCE: (47, 29, INVALID_RECORD, 48, 120),
}
FENCED = (90, 47)


def pairs_of(codes: dict[Api, tuple[int, ...]]) -> st.SearchStrategy[tuple[Api, int]]:
    return st.sampled_from([(api, code) for api, each in codes.items() for code in each])


def call(bench: Bench, name: str) -> None:
    """Make a call of the application. Whether it succeeds later does not matter."""
    calls: dict[str, Callable[[], Any]] = {
        "initialize": lambda: bench.called(bench.transactions.initialize),
        "begin": bench.begin,
        "commit": bench.commit,
        "abort": bench.abort,
        "send": bench.send,
        "offsets": lambda: bench.send_offsets(1),
    }
    calls[name]()


def brought_to(components: Components, state: str, *, is_v2: bool) -> Bench:
    """Return a producer in a state."""
    bench = Bench(components, is_v2=is_v2)
    if state == "UNINITIALIZED":
        return bench
    bench.initialized()
    if state == "READY":
        return bench
    bench.begin()
    if state == "IN_TRANSACTION":
        return bench
    code = PRODUCER_FENCED if state == "FATAL_ERROR" else INVALID_RECORD
    bench.fates[Api.PRODUCE].append(code)
    delivery = bench.send()
    assert bench.wait(lambda: delivery.is_done)
    return bench


REACHED = ("UNINITIALIZED", "READY", "IN_TRANSACTION", "ABORTABLE_ERROR", "FATAL_ERROR")


@client_property("PRD-TXN-02", state=st.sampled_from(REACHED), name=st.sampled_from(CALLS), is_v2=VERSION)
def a_call_in_a_wrong_state_changes_nothing(
    components: Components, state: str, name: str, is_v2: bool
) -> None:
    """A call that the state forbids raises an error and leaves the state, and one that it allows is made."""
    bench = brought_to(components, state, is_v2=is_v2)
    before = bench.transactions.transaction.state
    assert before.told == state
    requests = len(bench.seen)
    try:
        call(bench, name)
        raised = False
    except (IllegalStateError, TransactionError):
        raised = True
    assert raised is (state not in ALLOWED[name]), f"{name} in {state}: {'refused' if raised else 'made'}"
    if raised:
        assert bench.transactions.transaction.state is before, f"{name} left {state}"
        bench.rounds()
        assert not [api for api, _ in bench.seen[requests:] if api in TRANSACTION_APIS]


@client_property(
    "PRD-TXN-03",
    state=st.sampled_from(sorted(TransactionState, key=lambda state: state.told)),
    event=st.sampled_from(
        [TransactionEvent.COMPLETED, TransactionEvent.INITIALIZED, TransactionEvent.ABORTABLE]
    ),
)
def an_illegal_move_of_the_client_is_fatal(
    components: Components, state: TransactionState, event: TransactionEvent
) -> None:
    """An event of the client itself that the state forbids makes the producer fatal, with an error that says so."""
    bench = Bench(components)
    transaction = bench.transactions.transaction
    transaction.state = state
    after = ORACLE.table.get((state.told, event.told))
    assume(state is not TransactionState.FATAL_ERROR)
    transaction.happened(event, 0)
    if after is not None:
        assert transaction.state.told == after
    else:
        assert transaction.is_fatal, f"{event.told} in {state.told} left {transaction.state.told}"
        assert isinstance(transaction.error, FatalTransactionError)
        [move] = bench.events
        assert (state.told, "fatal") in ORACLE.table and move.cause == "fatal"  # type: ignore[attr-defined]


@client_property("PRD-TXN-05", is_v2=VERSION, count=st.integers(1, 5), commits=st.booleans())
def a_transaction_ends_after_its_records(
    components: Components, is_v2: bool, count: int, commits: bool
) -> None:
    """EndTxn is not sent before every batch of the transaction has a result, and then at once."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    bench.fates[Api.PRODUCE].append(HELD)
    sent = [bench.send(partition=number % 2) for number in range(count)]
    bench.rounds()
    begin = bench.transactions.begin_commit if commits else bench.transactions.begin_abort
    result = bench.called(begin)
    bench.wait(lambda: False, 100)
    assert not bench.is_out(Api.END_TXN), "EndTxn was sent while records had no result"
    bench.release()
    assert bench.wait(lambda: result.is_completed, 200), "the transaction did not end"
    assert all(each.is_done for each in sent) and result.error is None
    assert len(bench.asked(Api.END_TXN)) == 1


@client_property("PRD-TXN-05", is_v2=VERSION, linger_ms=st.sampled_from([0, 5, 1_000]))
def a_commit_does_not_linger(components: Components, is_v2: bool, linger_ms: int) -> None:
    """A commit sends what is buffered at once, whatever linger.ms is."""
    bench = Bench(components, is_v2=is_v2, linger_ms=linger_ms).initialized()
    bench.begin()
    bench.send()
    began_ms = bench.now_ms
    assert bench.commit().error is None
    assert bench.now_ms - began_ms < 100, f"the commit took {bench.now_ms - began_ms} ms"


@client_property("PRD-TXN-06", is_v2=VERSION, commits=st.booleans(), refused=st.booleans())
def an_empty_transaction_is_not_ended(
    components: Components, is_v2: bool, commits: bool, refused: bool
) -> None:
    """A transaction to which nothing was added ends without EndTxn, also if the only addition was refused."""
    assume(not (refused and (is_v2 or commits)))
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    if refused:
        bench.fates[Api.ADD_PARTITIONS_TO_TXN].append(29)
        delivery = bench.send()
        assert bench.wait(lambda: delivery.is_done)
    result = bench.commit() if commits else bench.abort()
    assert result.is_completed and result.error is None
    assert not bench.asked(Api.END_TXN)
    bench.begin()


@client_property("PRD-TXN-08", "PRD-TXN-09", pair=pairs_of(FATAL), is_v2=VERSION)
@example(pair=(Api.END_TXN, 48), is_v2=True)
@example(pair=(Api.TXN_OFFSET_COMMIT, 47), is_v2=False)
def some_errors_leave_only_close(components: Components, pair: tuple[Api, int], is_v2: bool) -> None:
    """Fencing, a missing permission for the transactional id, and an invalid state are fatal in every response."""
    api, code = pair
    assume(not (is_v2 and api in (Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN)))
    bench, results = _with_an_error(components, api, code, is_v2=is_v2)
    assert bench.transactions.transaction.is_fatal, f"{api.name} with {code} is not fatal"
    errors = [result.error for result in results if result.error]
    assert errors and all(isinstance(error, FatalTransactionError) for error in errors)
    fenced = [isinstance(error, ProducerFencedError) for error in errors]
    assert all(fenced) is (code in FENCED), f"{code}: {errors}"


@client_property("PRD-TXN-07", "PRD-TXN-08", "PRD-TXN-09", pair=pairs_of(ABORTABLE), is_v2=VERSION)
@example(pair=(Api.PRODUCE, 47), is_v2=True)
@example(pair=(Api.TXN_OFFSET_COMMIT, 25), is_v2=True)
@example(pair=(Api.ADD_PARTITIONS_TO_TXN, 29), is_v2=False)
def some_errors_can_be_aborted(components: Components, pair: tuple[Api, int], is_v2: bool) -> None:
    """Other errors make the transaction abortable: the commit fails, the abort works, and the next one is committed."""
    api, code = pair
    assume(not (is_v2 and api in (Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN)))
    bench, results = _with_an_error(components, api, code, is_v2=is_v2)
    transaction = bench.transactions.transaction
    assert transaction.state.told == "ABORTABLE_ERROR", f"{api.name} with {code}: {transaction.state.told}"
    assert api is Api.PRODUCE or [result for result in results if result.error]
    assert not bench.coordinator.committed
    assert bench.abort().error is None
    bench.begin()
    delivery = bench.send(b"next")
    assert bench.commit().error is None and delivery.error is None
    assert bench.coordinator.committed == [[b"next"]]
    assert not bench.coordinator.breaches, bench.coordinator.breaches


def _with_an_error(components: Components, api: Api, code: int, *, is_v2: bool) -> tuple[Bench, list[Any]]:
    """Return a transaction with a record and offsets, in which the first answer to ``api`` has an error."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    bench.fates[api].append(code)
    results: list[Any] = []
    delivery = bench.send(b"first")
    results.append(bench.send_offsets(1))
    bench.wait(lambda: delivery.is_done and results[0].is_completed, 500)
    try:
        results.append(bench.commit())
    except TransactionError as error:
        results[0].fail(error)
    return bench, results


@client_property("PRD-TXN-12", is_v2=VERSION, partitions=st.integers(1, 3), offsets=st.integers(0, 2))
@example(is_v2=False, partitions=2, offsets=1)
def requests_go_one_at_a_time_and_the_end_last(
    components: Components, is_v2: bool, partitions: int, offsets: int
) -> None:
    """One request of a transaction is out at a time, and EndTxn comes after everything that belongs to it."""
    bench = Bench(components, is_v2=is_v2).initialized()
    for api in (Api.ADD_PARTITIONS_TO_TXN, Api.TXN_OFFSET_COMMIT):
        bench.fates[api].append(HELD)
    bench.begin()
    for index in range(partitions):
        bench.send(partition=index)
    for offset in range(offsets):
        bench.send_offsets(offset)
    result = bench.called(bench.transactions.begin_commit)
    for _ in range(4):
        out = [each.api for each in bench.waiting() if each.api in TRANSACTION_APIS]
        assert len(out) <= 1, f"{out} are out at a time"
        assert not bench.asked(Api.END_TXN) or not (out or bench.waiting())
        bench.release()
    assert bench.wait(lambda: result.is_completed) and result.error is None
    apis = [api for api, _ in bench.seen if api in TRANSACTION_APIS]
    assert apis[0] is Api.INIT_PRODUCER_ID and apis[-1] is Api.END_TXN
    assert apis.count(Api.END_TXN) == 1
    assert len(bench.coordinator.committed) == 1 and not bench.coordinator.breaches


@client_property(
    "PRD-TXN-13", is_v2=VERSION, commits=st.booleans(), has_ended=st.booleans(), other=st.sampled_from(CALLS)
)
@example(is_v2=True, commits=True, has_ended=False, other="abort")
@example(is_v2=True, commits=True, has_ended=True, other="begin")
def a_call_without_a_result_can_only_be_repeated(
    components: Components, is_v2: bool, commits: bool, has_ended: bool, other: str
) -> None:
    """Until a call has its result, every other call is refused, and the same call gets the result of the first."""
    name = "commit" if commits else "abort"
    assume(other != name)
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    delivery = bench.send()
    assert bench.wait(lambda: delivery.is_done)
    bench.fates[Api.END_TXN].append(HELD)
    begin = bench.transactions.begin_commit if commits else bench.transactions.begin_abort
    first = bench.called(begin)
    bench.wait(lambda: False, 100)
    if has_ended:
        bench.release()
        assert bench.wait(lambda: first.is_completed)
    try:
        call(bench, other)
        refused = False
    except IllegalStateError:
        refused = True
    assert refused, f"{other} was made while {name} had no result"
    second = bench.called(begin)
    bench.release()
    assert bench.wait(lambda: second.is_completed) and second.error is None and second is first
    assert len(bench.asked(Api.END_TXN)) == 1
    second.take()
    bench.begin()


@client_property(
    "PRD-TXN-19", api=st.sampled_from([Api.PRODUCE, Api.END_TXN]), is_v2=VERSION, name=st.sampled_from(CALLS)
)
@example(api=Api.PRODUCE, is_v2=True, name="begin")
def a_fatal_error_is_the_answer_to_every_call(
    components: Components, api: Api, is_v2: bool, name: str
) -> None:
    """After a fatal error every call raises the original cause, and no more requests are sent."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    bench.fates[api].append(PRODUCER_FENCED)
    bench.send()
    bench.commit()
    requests = len(bench.seen)
    for _ in range(2):
        try:
            call(bench, name)
        except ProducerFencedError:
            pass
        else:
            raise AssertionError(f"{name} was made after a fatal error")
    bench.wait(lambda: False, 2_000)
    later = {seen for seen, _ in bench.seen[requests:]}
    assert not later & {*TRANSACTION_APIS, Api.PRODUCE}, f"{later} were sent after a fatal error"


@client_property("PRD-TXN-20", is_v2=VERSION, code=st.sampled_from([47, INVALID_RECORD]))
@example(is_v2=True, code=INVALID_RECORD)
def an_error_does_not_stop_the_abort(components: Components, is_v2: bool, code: int) -> None:
    """A batch that fails during an abort does not stop it, and the next transaction works."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    bench.fates[Api.PRODUCE] += [HELD, code]
    bench.send(b"first")
    bench.rounds()
    result = bench.called(bench.transactions.begin_abort)
    bench.release()
    assert bench.wait(lambda: result.is_completed) and result.error is None, result.error
    result.take()
    bench.begin()
    bench.send(b"next")
    assert bench.commit().error is None
    assert bench.coordinator.committed == [[b"next"]]


@client_property("PRD-TXN-20", is_v2=VERSION)
def an_abort_that_is_refused_is_fatal(components: Components, is_v2: bool) -> None:
    """An abort that is answered with an error that only an abort could repair leaves only close()."""
    bench = Bench(components, is_v2=is_v2).initialized()
    bench.begin()
    bench.send()
    bench.rounds()
    bench.fates[Api.END_TXN].append(BY_NAME["TRANSACTION_ABORTABLE"].code)
    result = bench.abort()
    assert result.is_completed, "the abort hangs"
    assert isinstance(result.error, FatalTransactionError) and bench.transactions.transaction.is_fatal


@client_property(
    "PRD-TXN-02", is_v2=VERSION, fates=st.lists(st.sampled_from([0, UNANSWERED, 51, 16]), max_size=4)
)
def its_moves_are_those_of_the_oracle(components: Components, is_v2: bool, fates: list[Any]) -> None:
    """Whatever delays a transaction, the trace has only moves of the oracle's table."""
    bench = Bench(components, is_v2=is_v2).initialized()
    for api in (Api.END_TXN, Api.PRODUCE):
        bench.fates[api].extend(fates)
    for _ in range(2):
        bench.begin()
        bench.send()
        assert bench.commit().error is None
    breaches = Transitions().watch(bench.events)
    assert not breaches, breaches[0]
