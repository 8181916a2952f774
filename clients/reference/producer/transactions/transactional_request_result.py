"""TransactionalRequestResult: the result of one call, which the application may wait for more than once."""

from __future__ import annotations

from clients.reference.errors import TransactionError


class TransactionalRequestResult:
    """The result of the call ``operation``. It is completed once, as done or with an ``error``.

    ``is_acked`` is set by the code that gave a completed result to the application. Until then a call that waited too
    long can only be repeated, and then gets this result (PRD-TXN-13).
    """

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self.is_completed = False
        self.is_acked = False
        self.error: TransactionError | None = None

    def done(self) -> None:
        """Complete the call. The first result is kept."""
        self.is_completed = True

    def fail(self, error: TransactionError) -> None:
        """Complete the call with an error. The first result is kept."""
        if not self.is_completed:
            self.is_completed, self.error = True, error

    def take(self) -> None:
        """Give a completed result to the application: return, or raise its error."""
        self.is_acked = True
        if self.error is not None:
            raise self.error
