"""A transactional producer against a strict coordinator: a transaction is visible as a whole, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from clients.reference.errors import IllegalStateError, TransactionError
from clients.reference.producer.producer import Components
from clients.reference.producer.send_handle import Delivery
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.reference.telemetry.trace import RequestSent
from harness.wire.apis import Api
from suites.checks.trace.sequence import Sequences
from suites.checks.trace.transition import Transitions
from suites.properties.property import stateful_property
from suites.properties.state_transitions.transaction_bench import (
    LOST,
    PARTITIONS,
    TRANSACTION_APIS,
    UNANSWERED,
    Bench,
)
from suites.properties.walks.transactions import WALKS

CODES = {
    Api.PRODUCE: [87, 7, 19, 6, LOST, UNANSWERED],
    Api.FIND_COORDINATOR: [15, LOST, UNANSWERED],
    Api.INIT_PRODUCER_ID: [16, 51, LOST, UNANSWERED],
    Api.ADD_PARTITIONS_TO_TXN: [16, 51, 29, LOST, UNANSWERED],
    Api.ADD_OFFSETS_TO_TXN: [16, 51, 30, LOST, UNANSWERED],
    Api.TXN_OFFSET_COMMIT: [16, 25, LOST, UNANSWERED],
    Api.END_TXN: [16, 51, 120, LOST, UNANSWERED],
}
FATE = st.sampled_from([(api, code) for api, codes in CODES.items() for code in codes])
NAMES = {api.name.replace("_", "").lower() for api in (*TRANSACTION_APIS, Api.PRODUCE)}
LONG_MS = 600_000


@dataclass(slots=True)
class Sent:
    """A transaction as the application knows it. ``told`` is "committed" or "aborted" once a call has succeeded."""

    values: list[bytes] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    wanted: str = ""
    told: str = ""


@stateful_property(
    "PRD-TXN-02",
    "PRD-TXN-04",
    "PRD-TXN-05",
    "PRD-TXN-07",
    "PRD-TXN-14",
    "PRD-TXN-16",
    "PRD-TXN-18",
    "PRD-TXN-19",
    "PRD-TXN-20",
    walks=WALKS,
)
class TransactionsAreVisibleAsAWhole(RuleBasedStateMachine):
    """Whatever fails, a transaction that was committed has all of its records, and any other one has none."""

    components = Components()

    @initialize(is_v2=st.booleans(), linger_ms=st.sampled_from([0, 20]))
    def start(self, is_v2: bool, linger_ms: int) -> None:
        self.bench = Bench(self.components, is_v2=is_v2, linger_ms=linger_ms)
        self.sent: list[Sent] = []
        self.call: TransactionalRequestResult | None = None
        self.numbers = 0
        self.fatal_at: int | None = None
        self._make(self.bench.transactions.initialize)

    # the application

    def _make(self, begin: object) -> None:
        """Make a call. One that is refused leaves everything as it is."""
        try:
            self.call = self.bench.called(begin)  # type: ignore[arg-type]
        except (IllegalStateError, TransactionError):
            self.bench.rounds()
        self._take()

    def _take(self) -> None:
        """Give a result to the application, as soon as there is one."""
        if self.call is None or not self.call.is_completed:
            return
        call, self.call = self.call, None
        call.is_acked = True
        if call.error is None and call.operation != "init_transactions":
            self.sent[-1].told = "committed" if call.operation == "commit_transaction" else "aborted"

    @precondition(lambda self: self.call is None)
    @rule()
    def begin(self) -> None:
        try:
            self.bench.begin()
        except (IllegalStateError, TransactionError):
            return
        self.sent.append(Sent())

    @precondition(lambda self: self.call is None)
    @rule(partition=st.integers(0, PARTITIONS - 1), count=st.integers(1, 3), at_once=st.booleans())
    def send(self, partition: int, count: int, at_once: bool) -> None:
        for _ in range(count):
            value = b"%04d" % self.numbers
            try:
                delivery = self.bench.send(value, partition)
            except (IllegalStateError, TransactionError):
                return
            self.numbers += 1
            self.sent[-1].values.append(value)
            self.sent[-1].deliveries.append(delivery)
        if at_once:
            self.bench.rounds()

    @precondition(lambda self: self.call is None)
    @rule(offset=st.integers(0, 9))
    def send_offsets(self, offset: int) -> None:
        try:
            self.bench.send_offsets(offset)
        except (IllegalStateError, TransactionError):
            self.bench.rounds()

    @precondition(lambda self: self.call is None and self.sent)
    @rule(commits=st.booleans())
    def end(self, commits: bool) -> None:
        transactions = self.bench.transactions
        self.sent[-1].wanted = self.sent[-1].wanted or ("commit" if commits else "abort")
        self._make(transactions.begin_commit if commits else transactions.begin_abort)

    # the brokers

    @rule(fate=FATE)
    def prepare(self, fate: tuple[Api, int | str]) -> None:
        """Something happens to the next request of an API."""
        api, what = fate
        self.bench.fates[api].append(what)

    @rule(passed_ms=st.sampled_from([1, 20, 45, 401, 1_600]))
    def wait(self, passed_ms: int) -> None:
        self.bench.wait(lambda: False, passed_ms)
        self._take()

    # invariants

    @invariant()
    def committed_transactions_are_whole(self) -> None:
        own = self.bench.coordinator
        assert not own.breaches, own.breaches[0]
        whole = [sorted(each.values) for each in self.sent]
        for values in own.committed:
            assert not values or sorted(values) in whole, f"{values} of {whole} were committed"

    @invariant()
    def what_was_told_is_true(self) -> None:
        committed = {value for values in self.bench.coordinator.committed for value in values}
        for each in self.sent:
            if each.told == "committed":
                assert set(each.values) <= committed, f"{each.values} were told to be committed"
                assert all(one.is_done and one.error is None for one in each.deliveries)
            elif each.told == "aborted" or each.wanted == "abort":
                assert not set(each.values) & committed, f"{each.values} were aborted"

    @invariant()
    def nothing_is_sent_after_a_fatal_error(self) -> None:
        events = self.bench.events
        if self.fatal_at is None and self.bench.transactions.transaction.is_fatal:
            self.fatal_at = len(events)
        later = [] if self.fatal_at is None else events[self.fatal_at :]
        sent = {event.api for event in later if isinstance(event, RequestSent)}
        assert not {api for api in sent if api.lower() in NAMES}, f"{sent} were sent after a fatal error"

    def teardown(self) -> None:
        """Nothing fails any more: every call ends, and the trace is consistent."""
        if not hasattr(self, "bench"):
            return
        self.bench.fates.clear()
        if self.call is not None:
            assert self.bench.wait(lambda: bool(self.call and self.call.is_completed), LONG_MS), (
                "a call hangs"
            )
            self._take()
        self.bench.core.close(self.bench.now_ms)
        assert self.bench.wait(lambda: self.bench.core.is_closed, LONG_MS), "the producer is not closed"
        self.committed_transactions_are_whole()
        self.what_was_told_is_true()
        assert all(one.is_done for each in self.sent for one in each.deliveries)
        for monitor in (Transitions(), Sequences()):
            assert not monitor.watch(self.bench.events), monitor.breaches[0]
