"""The application of a transactional producer: one transaction for each command, as the client's documentation has it.

It begins, sends, and commits or aborts. It aborts if a call of ``send`` was refused: that record never became part of
the transaction, so a commit would leave it out. What it does after an error is what the client lets it do
(``way_out``): repeat the call, abort, or close the producer and begin with another one of the same transactional id. It
never sends a record a second time: the next command begins the next transaction.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .adapter import ABORT, CLOSE, REPEAT
from .output import Output, Result, Results, invoke

if TYPE_CHECKING:
    from collections.abc import Callable

    from .adapter import Adapter

#: How often a call is repeated whose result is unknown. Each takes up to max.block.ms.
ATTEMPTS = 5
#: A client whose calls fail at once would otherwise write events without end.
ERROR_PAUSE_S = 0.1
#: How long the application waits for the results of a transaction's records before it ends the transaction anyway.
FLUSH_S = 10.0
COMMIT = "commit"


class Transactor:
    """Performs transactions with one adapter, on the thread that executes commands."""

    def __init__(self, adapter: Adapter, output: Output, is_hurried: Callable[[], bool]) -> None:
        self._adapter, self._output, self._is_hurried = adapter, output, is_hurried
        self._is_ready = False
        self._id = -1

    def transact(self, command: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Perform one transaction. Return a row of each of its records, in the columns of :class:`Results`."""
        self._id = command["id"]
        first, values = command["first"], command["values"]
        told = {"op": "transact", "id": self._id, "first": first, "count": len(values)}
        self._output.event("op_invoke", told)
        invoke_ns = time.monotonic_ns()
        sent = _Sent()
        outcome, error = self._end(command, sent)
        done_ns = time.monotonic_ns()
        return [
            (outcome, error, invoke_ns, done_ns, n, *sent.places.get(n, (-1, -1)))
            for n in range(first, first + len(values))
        ]

    def _end(self, command: dict[str, Any], sent: _Sent) -> tuple[str, str | None]:
        """Return the outcome, and the error that kept the transaction from the end that was asked for."""
        is_commit = command["end"] == COMMIT
        # Nothing is committed without a commit, so the records of a transaction that lacks one are not visible.
        without_commit = "fail" if is_commit else "ok"
        error = self._begin()
        if error is not None:
            return without_commit, error if is_commit else None
        refused = self._send(command, sent)
        if command["flush"] and refused is None:
            self._adapter.flush(FLUSH_S)
        if not is_commit or refused is not None:
            self._abort()
            return without_commit, refused
        return self._commit()

    def _begin(self) -> str | None:
        """Begin, with a new producer if there has to be one. Return the error's name if that failed."""
        if not self._is_ready:
            error = self._attempted("init_transactions", self._adapter.init_transactions)
            if error is not None:
                self._renew()
                return self._adapter.name_of(error)
            self._is_ready = True
        error = self._attempted("begin_transaction", self._adapter.begin_transaction)
        if error is not None:
            self._leave(error)
            return self._adapter.name_of(error)
        return None

    def _send(self, command: dict[str, Any], sent: _Sent) -> str | None:
        """Send the records. Return the error with which the client refused one of them, or None."""
        first, keys, values = command["first"], command["keys"], command["values"]
        partitions = command.get("partitions")
        for index, value in enumerate(values):
            partition = None if partitions is None else partitions[index]
            result = Result(sent, self._id, first + index)
            self._adapter.send(command["topic"], keys[index], value, partition, result)
            if first + index in sent.errors:
                return sent.errors[first + index]
        return None

    def _commit(self) -> tuple[str, str | None]:
        error = self._attempted("commit_transaction", self._adapter.commit_transaction)
        if error is None:
            return "ok", None
        name = self._adapter.name_of(error)
        if self._adapter.way_out(error) == ABORT:
            # The client says that it did not commit, and never will.
            return ("fail" if self._abort() else "info"), name
        self._renew()
        return "info", name

    def _abort(self) -> bool:
        error = self._attempted("abort_transaction", self._adapter.abort_transaction)
        if error is not None:
            self._renew()
        return error is None

    def _leave(self, error: Exception) -> None:
        if self._adapter.way_out(error) == ABORT:
            self._abort()
        else:
            self._renew()

    def _renew(self) -> None:
        self._is_ready = False
        self._adapter.renew()
        time.sleep(ERROR_PAUSE_S)

    def _attempted(self, op: str, call: Callable[[], None]) -> Exception | None:
        """Make a call, and repeat it as long as the client asks for that. Return the last error, or None."""
        for _ in range(ATTEMPTS):
            error = self._called(op, call)
            if error is None or self._adapter.way_out(error) != REPEAT or self._is_hurried():
                return error
            time.sleep(ERROR_PAUSE_S)
        return error

    def _called(self, op: str, call: Callable[[], None]) -> Exception | None:
        invoke_ns = invoke(self._output, op, self._id)
        error: Exception | None = None
        try:
            call()
        except Exception as raised:
            error = raised
        name = None if error is None else self._adapter.name_of(error)
        outcome = "ok" if error is None else _OUTCOMES[self._adapter.way_out(error)]
        row = {"outcome": [outcome], "error": [name], "invoke_ns": [invoke_ns]}
        self._output.event(
            "op_complete", {"op": op, "id": self._id, **row, "complete_ns": [time.monotonic_ns()]}
        )
        return error


#: What the way out of an error tells about the call.
_OUTCOMES = {REPEAT: "info", ABORT: "fail", CLOSE: "info"}


class _Sent(Results):
    """Where the records of one transaction were written, as far as the client has told."""

    def __init__(self) -> None:
        self.places: dict[int, tuple[int, int]] = {}
        self.errors: dict[int, str] = {}

    def add(self, id: int, row: tuple[Any, ...], op: str = "send") -> None:
        outcome, error, _, _, n, partition, offset = row
        if outcome == "ok":
            self.places[n] = partition, offset
        else:
            self.errors[n] = str(error)
