"""The exception for an append that is rejected with an error code."""

from __future__ import annotations

from kio.schema.errors import ErrorCode


class RequestRefused(Exception):
    """The append was rejected with ``code``. Nothing was appended.

    ``record_errors`` are (index in the batch, message). ``message`` is None if the broker sends none.
    """

    def __init__(
        self, code: ErrorCode, message: str | None = None, record_errors: tuple[tuple[int, str], ...] = ()
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.record_errors = record_errors
