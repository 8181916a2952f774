"""The exception that carries an error code through an append that does not happen."""

from __future__ import annotations

from kio.schema.errors import ErrorCode


class Refused(Exception):
    """Nothing was appended, because of ``code``.

    ``record_errors`` are (index in the batch, message); ``message`` is null where the broker sends none.
    """

    def __init__(
        self, code: ErrorCode, message: str | None = None, record_errors: tuple[tuple[int, str], ...] = ()
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.record_errors = record_errors
