"""Performs transactions in virtual time: one for each command, as ``verifiable.transacting`` has it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final

from clients.adapters.python_lib.verifiable import transacting
from clients.adapters.python_lib.verifiable.transacting import FLUSH, OUTCOMES, PAUSE, RENEW, SEND
from clients.adapters.reference.simulated.events import Events
from clients.adapters.reference.transaction_errors import name_of, way_out
from clients.reference.errors import IllegalStateError, SendError, TransactionError
from clients.reference.errors import TimeoutError as RequestTimeoutError
from clients.reference.producer.producer_batch import RecordMetadata
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from harness.model.verdicts import Outcome
from harness.simulated.scheduler import NS_PER_MS
from harness.workloads.transactions.commands import Transact

if TYPE_CHECKING:
    from clients.adapters.python_lib.verifiable.transacting import Ended, Found
    from clients.adapters.reference.simulated.application import Application, Wake

FLUSH_NS: Final = int(transacting.FLUSH_S * 1000) * NS_PER_MS
PAUSE_NS: Final = int(transacting.ERROR_PAUSE_S * 1000) * NS_PER_MS
Places = dict[int, tuple[int, int]]


class Transactor:
    """Performs transactions with the producer of an application. Each method waits where a real application does."""

    def __init__(self, application: Application, events: Events) -> None:
        self._application, self._events = application, events
        self._acts = transacting.Application(way_out, name_of)
        self._id = -1

    def transact(self, command: Transact) -> Generator[Wake, None, None]:
        """Perform one transaction, and report its outcome."""
        self._id = command.id
        invoke_ns = self._events.op_invoke(command.op, command.id, command.first, command.count)
        places: Places = {}
        outcome, error = yield from self._end(command, places)
        self._events.transacted(command, invoke_ns, Outcome(outcome), error, places)

    def _end(self, command: Transact, places: Places) -> Generator[Wake, None, Ended]:
        acting = self._acts.transact(command.end, flush=command.flush)
        found: Found = None
        while True:
            try:
                act = acting.send(found)
            except StopIteration as ended:
                value: Ended = ended.value
                return value
            found = yield from self._done(act, command, places)

    def _done(self, act: str, command: Transact, places: Places) -> Generator[Wake, None, Found]:
        """Do what the application does next, and return what it led to."""
        application = self._application
        if act == SEND:
            return (yield from self._send(command, places))
        if act == FLUSH:
            yield from application.flushed(self._events.now_ns + FLUSH_NS)
        elif act == RENEW:
            application.renew()
        elif act == PAUSE:
            yield from application.pause(PAUSE_NS)
        else:
            return (yield from self._called(act))
        return None

    def _send(self, command: Transact, places: Places) -> Generator[Wake, None, str | None]:
        """Send the records. Return the error with which the client refused one of them, or None."""

        def delivered(
            id: int, n: int, invoke_ns: int, metadata: RecordMetadata, error: SendError | None
        ) -> None:
            if error is None:
                places[n] = metadata.partition, metadata.offset

        try:
            yield from self._application.send(command, delivered)
        except (TransactionError, IllegalStateError) as refused:
            return name_of(refused)
        return None

    def _called(self, op: str) -> Generator[Wake, None, Exception | None]:
        invoke_ns = self._events.op_invoke(op, self._id)
        error: Exception | None = None
        try:
            result = self._begun(op)
            if result is not None:
                yield from self._application.until(lambda: result.is_completed)
                if not result.is_completed:
                    raise RequestTimeoutError("call-timed-out", "{method}() took too long", method=op)
                result.take()
        except (TransactionError, IllegalStateError, RequestTimeoutError) as raised:
            error = raised
        name, outcome = (None, "ok") if error is None else (name_of(error), OUTCOMES[way_out(error)])
        self._events.op_complete(op, self._id, invoke_ns, name, Outcome(outcome))
        return error

    def _begun(self, op: str) -> TransactionalRequestResult | None:
        """Begin a call. Return its result, or None if it is done."""
        transactions = self._application.producer.core.transactions
        calls: dict[str, Callable[[int], TransactionalRequestResult | None]] = {
            "init_transactions": transactions.initialize,
            "begin_transaction": transactions.begin,
            "commit_transaction": transactions.begin_commit,
            "abort_transaction": transactions.begin_abort,
        }
        return calls[op](self._events.now_ns // NS_PER_MS)
