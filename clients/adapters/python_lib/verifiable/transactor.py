"""Performs transactions with a client: one for each command, as ``transacting`` has it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .output import Output, Result, Results, invoke
from .transacting import ERROR_PAUSE_S, FLUSH, FLUSH_S, OUTCOMES, PAUSE, RENEW, SEND, Application

if TYPE_CHECKING:
    from collections.abc import Callable

    from .adapter import Adapter
    from .transacting import Ended, Found


class Transactor:
    """Performs transactions with one adapter, on the thread that executes commands."""

    def __init__(self, adapter: Adapter, output: Output, is_hurried: Callable[[], bool]) -> None:
        self._adapter, self._output = adapter, output
        self._application = Application(adapter.way_out, adapter.name_of, is_hurried)
        self._id = -1
        self._calls = {
            name: getattr(adapter, name)
            for name in ("init_transactions", "begin_transaction", "commit_transaction", "abort_transaction")
        }

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

    def _end(self, command: dict[str, Any], sent: _Sent) -> Ended:
        acting = self._application.transact(command["end"], flush=command["flush"])
        found: Found = None
        while True:
            try:
                found = self._done(acting.send(found), command, sent)
            except StopIteration as ended:
                value: Ended = ended.value
                return value

    def _done(self, act: str, command: dict[str, Any], sent: _Sent) -> Found:
        """Do what the application does next, and return what it led to."""
        if act == SEND:
            return self._send(command, sent)
        if act == FLUSH:
            self._adapter.flush(FLUSH_S)
        elif act == RENEW:
            self._adapter.renew()
        elif act == PAUSE:
            time.sleep(ERROR_PAUSE_S)
        else:
            return self._called(act)
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

    def _called(self, op: str) -> Exception | None:
        invoke_ns = invoke(self._output, op, self._id)
        error: Exception | None = None
        try:
            self._calls[op]()
        except Exception as raised:
            error = raised
        name = None if error is None else self._adapter.name_of(error)
        outcome = "ok" if error is None else OUTCOMES[self._adapter.way_out(error)]
        row = {"outcome": [outcome], "error": [name], "invoke_ns": [invoke_ns]}
        self._output.event(
            "op_complete", {"op": op, "id": self._id, **row, "complete_ns": [time.monotonic_ns()]}
        )
        return error


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
