"""The decisions of a consumer about reading, as events of the trace: one per request or portion of records."""

from __future__ import annotations

from clients.reference.telemetry.trace import TraceEvent


class FetchSent(TraceEvent, tag="fetch_sent", frozen=True, kw_only=True):
    """A Fetch request was queued. ``partitions`` are the ones in it, ``forgotten`` those that leave the session."""

    node: int
    session_id: int
    session_epoch: int
    partitions: int
    forgotten: int


class FetchAnswered(TraceEvent, tag="fetch_answered", frozen=True, kw_only=True):
    """A Fetch response arrived, or its request failed: ``error`` is Kafka's name or the exception's, else empty.

    Only a ``usable`` response, which has no error and fits the session, is read. ``size_bytes`` are the compressed
    records in it.
    """

    node: int
    session_id: int
    partitions: int
    size_bytes: int
    usable: bool
    error: str = ""


class FetchConsumed(TraceEvent, tag="fetch_consumed", frozen=True, kw_only=True):
    """All data of a Fetch response were returned or dropped.

    ``records`` are those that were returned, by topic, and ``size_bytes`` their size, uncompressed.
    """

    node: int
    records: dict[str, int]
    size_bytes: dict[str, int]


class FetchDropped(TraceEvent, tag="fetch_dropped", frozen=True, kw_only=True):
    """Data of a partition was not returned, because it does not fit its position any more (CSM-FET-03)."""

    partition: str
    offset: int
    reason: str


class FetchFailed(TraceEvent, tag="fetch_failed", frozen=True, kw_only=True):
    """A Fetch response had an error for a partition. ``error`` is Kafka's name."""

    partition: str
    offset: int
    error: str


class RecordsReturned(TraceEvent, tag="records_returned", frozen=True, kw_only=True):
    """The application got records, or the position moved over offsets without records.

    ``lag`` and ``lead`` are the offsets left to read and those behind the position, None if they are not known.
    """

    partition: str
    record_count: int
    offset: int
    next_offset: int
    lag: int | None = None
    lead: int | None = None


class NothingToReturn(TraceEvent, tag="nothing_to_return", frozen=True, kw_only=True):
    """A response has nothing behind the position of a partition. ``lag`` and ``lead`` are as in RecordsReturned."""

    partition: str
    offset: int
    lag: int | None = None
    lead: int | None = None


class OffsetReset(TraceEvent, tag="offset_reset", frozen=True, kw_only=True):
    """A lookup found the position of a partition (CSM-FET-11). ``strategy`` is how it was looked up."""

    partition: str
    strategy: str
    offset: int


class LogTruncated(TraceEvent, tag="log_truncated", frozen=True, kw_only=True):
    """The leader's log differs from what was read (CSM-FET-07). ``end_offset`` is where, -1 if it does not know."""

    partition: str
    offset: int
    end_offset: int
