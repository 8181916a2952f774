"""What the reference producer lets an application do after an error of a transaction."""

from __future__ import annotations

from clients.adapters.python_lib.verifiable.adapter import ABORT, CLOSE, REPEAT
from clients.reference.errors import SendError, TransactionError
from clients.reference.errors import TimeoutError as RequestTimeoutError


def way_out(error: Exception) -> str:
    """Return whether the call is to be repeated, the transaction aborted, or the producer closed."""
    if isinstance(error, RequestTimeoutError):
        return REPEAT
    return ABORT if isinstance(error, TransactionError) and not error.is_fatal else CLOSE


def name_of(error: Exception) -> str:
    """Return Kafka's name of an error, or that of its class."""
    return error.name if isinstance(error, TransactionError | SendError) else type(error).__name__
