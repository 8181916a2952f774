"""What one client may take of the harness in one trial: one table, and one meter that enforces it.

Everything that a client says or leaves is counted here before it is read (:class:`Meter`). A client that goes beyond a
limit has broken the contract: its trial ends as a harness-error that names the limit, and the other trials go on. The
limits that grow with the load have far more room than a client that sends every record a hundred times would take.
``docs/reference/limits.md`` is made from this table.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from harness.model.errors import ClientBroken

MIB: Final = 2**20


@dataclass(frozen=True)
class Limit:
    """``base`` of something, and ``a_record`` more for each record of the load. ``what`` completes "at most N ..."."""

    name: str
    what: str
    base: int
    a_record: int = 0

    def of(self, records: int) -> int:
        """What a client may take in a trial of so many records."""
        return self.base + self.a_record * records


LINE_BYTES: Final = Limit("line", "bytes in one line on stdout", 8 * MIB)
EVENT_BYTES: Final = Limit("events", "bytes on stdout", 32 * MIB, 4_096)
#: A heartbeat a second, a result or two a record: a client that says far more is stuck in a loop.
LINES: Final = Limit("lines", "lines on stdout", 50_000, 10)
TEXT_CHARS: Final = Limit(
    "text", "characters in a string of an event; the rest is cut off, and counted", 4_096
)
ENTRIES: Final = Limit("entries", "entries in a list or table of settings or features", 1_000)
NOTES: Final = Limit("unknown", "different names of events that the contract does not know", 100)
NESTING: Final = Limit("nesting", "levels in one JSON value", 32)
LOG_BYTES: Final = Limit("stderr", "bytes on stderr", 16 * MIB)
TRACE_BYTES: Final = Limit("trace", "bytes in its trace", 32 * MIB, 8_192)
FILE_BYTES: Final = Limit("file", "bytes in any one file that it writes (RLIMIT_FSIZE)", 256 * MIB, 8_192)
STORED_RECORDS: Final = Limit("stored-records", "records in the topic", 10_000, 100)
STORED_BYTES: Final = Limit("stored-bytes", "bytes in the topic, decompressed, values aside", 16 * MIB, 8_192)
ROWS: Final = Limit("frames", "frames and connections on its lane", 400_000, 100)
#: Evidence from elsewhere is judged in the memory of this machine.
EVIDENCE: Final = Limit(
    "evidence",
    "bytes of memory for the evidence of a trial, as estimated when it is stored and read",
    384 * MIB,
)
REQUEST_BYTES: Final = Limit("requests", "bytes in its requests, values aside", 256 * MIB, 8_192)

#: A broker reserves what a request says it will have before it has come: eight times 100 MiB end its JVM.
BEGUN_BYTES: Final = Limit(
    "begun", "bytes in requests that have begun and not ended, on all connections", 64 * MIB
)
CONNECTIONS: Final = Limit("connections", "connections at a time", 1_000)

LIMITS: Final = (
    LINE_BYTES,
    EVENT_BYTES,
    LINES,
    TEXT_CHARS,
    ENTRIES,
    NOTES,
    NESTING,
    LOG_BYTES,
    TRACE_BYTES,
    FILE_BYTES,
    STORED_RECORDS,
    STORED_BYTES,
    ROWS,
    REQUEST_BYTES,
    EVIDENCE,
    BEGUN_BYTES,
    CONNECTIONS,
)


class OverLimit(ClientBroken):
    """The client took more of the harness than it may."""


class Meter:
    """What one client has taken so far in a trial of ``records`` records; each value has ``value_bytes``."""

    def __init__(self, client: str, records: int, value_bytes: int = 0) -> None:
        self.client = client
        self._records, self._value_bytes = records, value_bytes
        self._taken: Counter[Limit] = Counter()
        #: Why the client must stop, if it went too far.
        self.exceeded: OverLimit | None = None

    def most(self, limit: Limit) -> int:
        """The limit in this trial. What values take comes on top, a hundred times, where values are counted."""
        values = 100 * self._records * self._value_bytes if limit in _WITH_VALUES else 0
        return limit.of(self._records) + values

    def left(self, limit: Limit) -> int:
        """How much of it is left."""
        return max(0, self.most(limit) - self._taken[limit])

    def spend(self, limit: Limit, amount: int = 1) -> None:
        """Take ``amount`` of what adds up over the trial. OverLimit beyond the limit, then and ever after."""
        self._taken[limit] += amount
        self.hold(limit, self._taken[limit])

    def hold(self, limit: Limit, amount: int) -> None:
        """Take what does not add up, such as the length of one line. OverLimit beyond the limit."""
        if amount > (most := self.most(limit)):
            self.exceeded = self.exceeded or OverLimit(
                f"client {self.client} broke the contract: expected at most {most:,} {limit.what}, got {amount:,}"
            )
            raise self.exceeded


_WITH_VALUES: Final = frozenset({STORED_BYTES, REQUEST_BYTES})
