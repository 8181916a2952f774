"""A request as the brokers see it, and their response."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from harness.wire.headers import RequestHeader

if TYPE_CHECKING:
    from harness.brokers.scripted.agenda import Waiting

NS_PER_MS: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Answer:
    """The outcome of one request.

    ``frame`` is the whole response frame, or None if there is no response. ``at_ns`` is when it is ready; the
    connection's next request waits until then. If ``close``, the broker closes the connection. If ``again``, the broker
    has not read the request yet because it is paused, and the caller must submit it again at ``at_ns``. If ``waiting``,
    the response is not known yet: it tells its listeners the answer to send, and the connection's next request waits
    until then.
    """

    frame: bytes | None
    at_ns: int
    close: bool = False
    again: bool = False
    waiting: Waiting | None = None


@dataclass(slots=True)
class Request:
    """A decoded request. ``throttle_ms`` is the throttle time for its response."""

    node_id: int
    header: RequestHeader
    body: Any
    now_ns: int
    now_ms: int
    throttle_ms: int

    @property
    def version(self) -> int:
        """The version of the API."""
        return self.header.api_version


class Closed(Exception):
    """The broker closes the connection instead of responding. The message is the reason."""


@cache
def milliseconds(duration_ms: int) -> timedelta:
    """Return a duration in the type that messages use."""
    return timedelta(milliseconds=duration_ms)


def timestamp(timestamp_ms: int) -> datetime | None:
    """Return a timestamp in the type that messages use. None means -1, and a value outside the calendar's range."""
    if timestamp_ms < 0:
        return None
    try:
        return _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return None
