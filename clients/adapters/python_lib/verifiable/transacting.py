"""What the application of a transactional producer does next, as a generator without a client.

It begins, sends, and commits or aborts. It aborts if a call of ``send`` was refused: that record never became part of
the transaction, so a commit would leave it out. What it does after an error is what the client lets it do
(``way_out``): repeat the call, abort, or close the producer and begin with another one of the same transactional id. It
never sends a record a second time: the next command begins the next transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .adapter import ABORT, CLOSE, REPEAT

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    #: The outcome of a transaction, and the error that kept it from the end that was asked for.
    Ended = tuple[str, str | None]
    #: What the driver found: the error of a call, the name of the error with which ``send`` was refused, or None.
    Found = Exception | str | None

#: What is next, besides the calls of transactions, which have their own names: the records are sent, their results are
#: awaited, another producer takes the place of this one, and time passes.
SEND, FLUSH, RENEW, PAUSE = "send", "flush", "renew", "pause"
INIT, BEGIN = "init_transactions", "begin_transaction"
#: How often a call is repeated whose result is unknown. Each takes up to max.block.ms.
ATTEMPTS = 5
#: How long a pause is. A client whose calls fail at once would otherwise write events without end.
ERROR_PAUSE_S = 0.1
#: How long the application waits for the results of a transaction's records before it ends the transaction anyway.
FLUSH_S = 10.0
COMMIT = "commit"
#: What the way out of an error tells about the call.
OUTCOMES = {REPEAT: "info", ABORT: "fail", CLOSE: "info"}


class Application:
    """One producer's application. It lasts for all transactions, since a producer is initialized once."""

    def __init__(
        self,
        way_out: Callable[[Exception], str],
        name_of: Callable[[Exception], str],
        is_hurried: Callable[[], bool] = lambda: False,
    ) -> None:
        self._way_out, self._name_of, self._is_hurried = way_out, name_of, is_hurried
        self._is_ready = False

    def transact(self, end: str, *, flush: bool) -> Generator[str, Found, Ended]:
        """Yield what is next in one transaction, and take what it led to. Return the outcome and an error."""
        is_commit = end == COMMIT
        # Nothing is committed without a commit, so the records of a transaction that lacks one are not visible.
        without_commit = "fail" if is_commit else "ok"
        error = yield from self._begin()
        if error is not None:
            return without_commit, error if is_commit else None
        refused = yield SEND
        if flush and refused is None:
            yield FLUSH
        if is_commit and refused is None:
            return (yield from self._commit())
        yield from self._abort()
        return without_commit, None if refused is None else str(refused)

    def _begin(self) -> Generator[str, Found, str | None]:
        """Begin, with a new producer if there has to be one. Return the error's name if that failed."""
        for op in (BEGIN,) if self._is_ready else (INIT, BEGIN):
            error = yield from self._attempted(op)
            if error is not None:
                if op == BEGIN and self._way_out(error) == ABORT:
                    yield from self._abort()
                else:
                    yield from self._renew()
                return self._name_of(error)
            self._is_ready = True
        return None

    def _commit(self) -> Generator[str, Found, Ended]:
        error = yield from self._attempted("commit_transaction")
        if error is None:
            return "ok", None
        name = self._name_of(error)
        if self._way_out(error) == ABORT:
            # The client says that it did not commit, and never will.
            is_aborted = yield from self._abort()
            return "fail" if is_aborted else "info", name
        yield from self._renew()
        return "info", name

    def _abort(self) -> Generator[str, Found, bool]:
        error = yield from self._attempted("abort_transaction")
        if error is not None:
            yield from self._renew()
        return error is None

    def _renew(self) -> Generator[str, Found, None]:
        self._is_ready = False
        yield RENEW
        yield PAUSE

    def _attempted(self, op: str) -> Generator[str, Found, Exception | None]:
        """Make a call, and repeat it as long as the client asks for that. Return the last error, or None."""
        error: Exception | None = None
        for _ in range(ATTEMPTS):
            found = yield op
            error = found if isinstance(found, Exception) else None
            if error is None or self._way_out(error) != REPEAT or self._is_hurried():
                break
            yield PAUSE
        return error
