"""One request as the brokers see it, and what they say to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from harness.wire.headers import RequestHeader

NS_PER_MS: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Answer:
    """What becomes of one request.

    ``frame`` is the whole response frame, None where there is none; ``at_ns`` when it is ready, and the connection's
    next request waits for that; ``close``: then the broker closes the connection. ``again``: the broker has not read
    the request yet (it is paused) and is to be handed it again at ``at_ns``.
    """

    frame: bytes | None
    at_ns: int
    close: bool = False
    again: bool = False


@dataclass(slots=True)
class Request:
    """A request that could be read. ``throttle_ms`` is what its answer has to say."""

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
    """The broker closes the connection instead of answering, for the reason in the message."""


@cache
def milliseconds(duration_ms: int) -> timedelta:
    """A duration as messages carry it."""
    return timedelta(milliseconds=duration_ms)


def timestamp(timestamp_ms: int) -> datetime | None:
    """A timestamp as messages carry it; None is -1, and so is one that no calendar has."""
    if timestamp_ms < 0:
        return None
    try:
        return _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return None
