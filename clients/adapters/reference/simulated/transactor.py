"""The application of a transactional producer, as ``verifiable.transactor`` has it in live mode."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final

from clients.adapters.python_lib.verifiable.adapter import ABORT, CLOSE, REPEAT
from clients.adapters.python_lib.verifiable.transactor import ATTEMPTS, ERROR_PAUSE_S, FLUSH_S
from clients.adapters.reference.simulated.events import Events
from clients.adapters.reference.transaction_errors import name_of, way_out
from clients.reference.errors import IllegalStateError, SendError, TransactionError
from clients.reference.errors import TimeoutError as RequestTimeoutError
from clients.reference.producer.producer_batch import RecordMetadata
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from harness.model.verdicts import Outcome
from harness.simulated.scheduler import NS_PER_MS
from harness.workloads.transactions.commands import COMMIT, Transact

if TYPE_CHECKING:
    from clients.adapters.reference.simulated.application import Application, Wake

FLUSH_NS: Final = int(FLUSH_S * 1000) * NS_PER_MS
PAUSE_NS: Final = int(ERROR_PAUSE_S * 1000) * NS_PER_MS
#: What the way out of an error tells about the call.
OUTCOMES: Final = {REPEAT: Outcome.INFO, ABORT: Outcome.FAIL, CLOSE: Outcome.INFO}
Begin = Callable[[int], TransactionalRequestResult | None]
Ended = tuple[Outcome, str | None]


class Transactor:
    """Performs transactions with the producer of an application. Each method waits where a real application does."""

    def __init__(self, application: Application, events: Events) -> None:
        self._application, self._events = application, events
        self._is_ready = False
        self._id = -1

    def transact(self, command: Transact) -> Generator[Wake, None, None]:
        """Perform one transaction, and report its outcome."""
        self._id = command.id
        invoke_ns = self._events.op_invoke(command.op, command.id, command.first, command.count)
        places: dict[int, tuple[int, int]] = {}
        outcome, error = yield from self._end(command, places)
        self._events.transacted(command, invoke_ns, outcome, error, places)

    def _end(self, command: Transact, places: dict[int, tuple[int, int]]) -> Generator[Wake, None, Ended]:
        is_commit = command.end == COMMIT
        error = yield from self._begin()
        if error is not None:
            return (Outcome.FAIL, error) if is_commit else (Outcome.OK, None)

        def delivered(
            id: int, n: int, invoke_ns: int, metadata: RecordMetadata, error: SendError | None
        ) -> None:
            if error is None:
                places[n] = metadata.partition, metadata.offset

        refused = None
        try:
            yield from self._application.send(command, delivered)
        except (TransactionError, IllegalStateError) as raised:
            refused = name_of(raised)
        if command.flush and refused is None:
            yield from self._application.flushed(self._events.now_ns + FLUSH_NS)
        if not is_commit or refused is not None:
            yield from self._abort()
            return (Outcome.FAIL if is_commit else Outcome.OK), refused
        return (yield from self._commit())

    def _begin(self) -> Generator[Wake, None, str | None]:
        """Begin, with a new producer if there has to be one. Return the error's name if that failed."""
        if not self._is_ready:
            error = yield from self._attempted(
                "init_transactions", lambda now_ms: self._transactions.initialize(now_ms)
            )
            if error is not None:
                yield from self._renew()
                return name_of(error)
            self._is_ready = True
        error = yield from self._attempted("begin_transaction", self._begun)
        if error is None:
            return None
        if way_out(error) == ABORT:
            yield from self._abort()
        else:
            yield from self._renew()
        return name_of(error)

    def _begun(self, now_ms: int) -> None:
        self._transactions.begin(now_ms)

    def _commit(self) -> Generator[Wake, None, Ended]:
        error = yield from self._attempted(
            "commit_transaction", lambda now_ms: self._transactions.begin_commit(now_ms)
        )
        if error is None:
            return Outcome.OK, None
        if way_out(error) == ABORT:
            is_aborted = yield from self._abort()
            return Outcome.FAIL if is_aborted else Outcome.INFO, name_of(error)
        yield from self._renew()
        return Outcome.INFO, name_of(error)

    def _abort(self) -> Generator[Wake, None, bool]:
        error = yield from self._attempted(
            "abort_transaction", lambda now_ms: self._transactions.begin_abort(now_ms)
        )
        if error is not None:
            yield from self._renew()
        return error is None

    def _renew(self) -> Generator[Wake, None, None]:
        self._is_ready = False
        self._application.renew()
        yield from self._application.pause(PAUSE_NS)

    def _attempted(self, op: str, begin: Begin) -> Generator[Wake, None, Exception | None]:
        """Make a call, and repeat it as long as the client asks for that. Return the last error, or None."""
        error: Exception | None = None
        for _ in range(ATTEMPTS):
            error = yield from self._called(op, begin)
            if error is None or way_out(error) != REPEAT:
                return error
            yield from self._application.pause(PAUSE_NS)
        return error

    def _called(self, op: str, begin: Begin) -> Generator[Wake, None, Exception | None]:
        invoke_ns = self._events.op_invoke(op, self._id)
        error: Exception | None = None
        try:
            result = begin(self._events.now_ns // NS_PER_MS)
            if result is not None:
                yield from self._application.until(lambda: result.is_completed)
                if not result.is_completed:
                    raise RequestTimeoutError("call-timed-out", "{method}() took too long", method=op)
                result.take()
        except (TransactionError, IllegalStateError, RequestTimeoutError) as raised:
            error = raised
        name, outcome = (None, Outcome.OK) if error is None else (name_of(error), OUTCOMES[way_out(error)])
        self._events.op_complete(op, self._id, invoke_ns, name, outcome)
        return error

    @property
    def _transactions(self) -> TransactionalManager:
        return self._application.producer.core.transactions
