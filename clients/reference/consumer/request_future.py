"""RequestFuture: the outcome of a request that is not here yet, with listeners (CSM-CNC-05, -06).

A future is completed once, with a value or with an error. A second completion, or reading the outcome that it does not
have, is a defect of the caller and raises IllegalStateError. Listeners run in the order in which they were added,
once, or at once if the future is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from clients.reference.errors import IllegalStateError

T = TypeVar("T")
S = TypeVar("S")

_ABSENT = object()


class RequestFuture(Generic[T]):
    """org.apache.kafka.clients.consumer.internals.RequestFuture, for one thread at a time."""

    def __init__(self) -> None:
        self._value: object = _ABSENT
        self._error: Exception | None = None
        self._listeners: deque[tuple[Callable[[T], None], Callable[[Exception], None]]] = deque()

    @classmethod
    def of_error(cls, error: Exception) -> RequestFuture[T]:
        """Return a future that has failed already."""
        failed = cls()
        failed.fail(error)
        return failed

    @classmethod
    def of_value(cls, value: T) -> RequestFuture[T]:
        """Return a future that has succeeded already."""
        done = cls()
        done.complete(value)
        return done

    # State

    @property
    def is_done(self) -> bool:
        """Whether there is an outcome."""
        return self.succeeded or self.failed

    @property
    def succeeded(self) -> bool:
        """Whether the outcome is a value."""
        return self._value is not _ABSENT

    @property
    def failed(self) -> bool:
        """Whether the outcome is an error."""
        return self._error is not None

    @property
    def value(self) -> T:
        """The value. Raise IllegalStateError if the future has not succeeded."""
        if not self.succeeded:
            raise IllegalStateError("future-without-value", "the future has no value")
        return cast("T", self._value)

    @property
    def error(self) -> Exception:
        """The error. Raise IllegalStateError if the future has not failed."""
        if self._error is None:
            raise IllegalStateError("future-without-error", "the future has no error")
        return self._error

    @property
    def is_retriable(self) -> bool:
        """Whether the error says that the same request may succeed later. Raise IllegalStateError without an error."""
        return bool(getattr(self.error, "retriable", False))

    # Outcomes

    def complete(self, value: T) -> None:
        """Succeed. Raise IllegalStateError if the future is done, or if the value is an exception."""
        if isinstance(value, BaseException):
            raise IllegalStateError("future-of-an-exception", "an exception cannot be the value of a future")
        self._must_be_open()
        self._value = value
        self._tell()

    def fail(self, error: Exception) -> None:
        """Fail. Raise IllegalStateError if the future is done, or if ``error`` is not an exception."""
        if not isinstance(error, Exception):
            raise IllegalStateError("future-without-reason", "a future fails with an exception only")
        self._must_be_open()
        self._error = error
        self._tell()

    def _must_be_open(self) -> None:
        if self.is_done:
            raise IllegalStateError("future-is-done", "the future has its outcome already")

    # Listeners

    def add_listener(self, on_success: Callable[[T], None], on_failure: Callable[[Exception], None]) -> None:
        """Call one of the two when the future is done, or now if it is."""
        self._listeners.append((on_success, on_failure))
        if self.is_done:
            self._tell()

    def compose(
        self,
        adapter: Callable[[T, RequestFuture[S]], None],
        on_failure: Callable[[Exception, RequestFuture[S]], None] | None = None,
    ) -> RequestFuture[S]:
        """Return a future that ``adapter`` completes when this one succeeds.

        If this one fails, it fails with the same error, or ``on_failure`` completes it.
        """
        adapted: RequestFuture[S] = RequestFuture()

        def failed(error: Exception) -> None:
            if on_failure is None:
                adapted.fail(error)
            else:
                on_failure(error, adapted)

        self.add_listener(lambda value: adapter(value, adapted), failed)
        return adapted

    def chain(self, other: RequestFuture[T]) -> None:
        """Give ``other`` the same outcome."""
        self.add_listener(other.complete, other.fail)

    def _tell(self) -> None:
        while self._listeners:
            on_success, on_failure = self._listeners.popleft()
            if self._error is not None:
                on_failure(self._error)
            else:
                on_success(cast("T", self._value))
