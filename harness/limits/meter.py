"""What one client may use of the harness in one trial: one table of limits, and one meter that enforces them.

Everything that a client outputs or leaves behind is counted here before it is read (:class:`Meter`). A client that
exceeds a limit has broken the contract: its trial ends as a harness-error that names the limit, and the other trials
continue. The limits that grow with the load are far above the use of a client that sends every record a hundred times.
``docs/reference/limits.md`` is made from this table.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from harness.model.errors import ClientBroken
from harness.model.spec import Workload

MIB: Final = 2**20


@dataclass(frozen=True, eq=False)
class Limit:
    """A limit of ``base``, plus ``a_record`` for each record of the load and ``a_partition`` for each partition.

    ``what`` completes "at most N ...".
    """

    name: str
    what: str
    base: int
    a_record: int = 0
    a_partition: int = 0

    def of(self, records: int, partitions: int = 0) -> int:
        """Return the limit for a trial with this number of records and partitions."""
        return self.base + self.a_record * records + self.a_partition * partitions


LINE_BYTES: Final = Limit("line", "bytes in one line on stdout", 8 * MIB)
EVENT_BYTES: Final = Limit("events", "bytes on stdout", 32 * MIB, 4_096)
#: One heartbeat per second and one or two results per record: a client that outputs far more is in an endless loop.
LINES: Final = Limit("lines", "lines on stdout", 50_000, 10)
TEXT_CHARS: Final = Limit(
    "text",
    "characters in a string of an event, content of records aside; the rest is cut off, and counted",
    4_096,
)
ENTRIES: Final = Limit("entries", "entries in a list or table of settings or features", 1_000)
NOTES: Final = Limit("unknown", "different names of events that the contract does not know", 100)
NESTING: Final = Limit("nesting", "levels in one JSON value", 32)
LOG_BYTES: Final = Limit("stderr", "bytes on stderr, of all its processes", 16 * MIB)
TRACE_BYTES: Final = Limit("trace", "bytes in its trace", 32 * MIB, 8_192)
FILE_BYTES: Final = Limit("file", "bytes in any one file that it writes (RLIMIT_FSIZE)", 256 * MIB, 8_192)
DISK_BYTES: Final = Limit(
    "disk", "bytes on the disk in its own folder, the one of its trace", 512 * MIB, 16_384
)
FILES: Final = Limit("files", "files and folders in its own folder", 10_000)
DEPTH: Final = Limit("depth", "levels of folders in its own folder", 64)
STORED_RECORDS: Final = Limit("stored-records", "records in the topic", 10_000, 100)
STORED_BYTES: Final = Limit("stored-bytes", "bytes in the topic, decompressed, values aside", 16 * MIB, 8_192)
ROWS: Final = Limit("frames", "frames and connections on its lane", 400_000, 100)
#: Evidence from elsewhere must fit into the memory of this machine.
EVIDENCE: Final = Limit(
    "evidence",
    "bytes of memory for the evidence of a trial, as estimated when it is stored and read",
    384 * MIB,
)
EVIDENCE_OF_LOAD: Final = Limit(
    "evidence-of-load",
    "bytes of memory for the evidence of a trial with the user's own load, estimated in the same way",
    1_536 * MIB,
)
REQUEST_BYTES: Final = Limit("requests", "bytes in its requests, values aside", 256 * MIB, 8_192)
#: A record alone in a request takes 5. A partition takes up to 7 in Metadata, and 4 in a Fetch without a session.
ELEMENTS: Final = Limit(
    "elements",
    "batches and elements of arrays in its requests and their responses",
    1_000_000,
    500,
    10_000,
)

#: A broker reserves the claimed size of a request before it arrives: eight times 100 MiB crash its JVM.
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
    DISK_BYTES,
    FILES,
    DEPTH,
    STORED_RECORDS,
    STORED_BYTES,
    ROWS,
    REQUEST_BYTES,
    ELEMENTS,
    EVIDENCE,
    EVIDENCE_OF_LOAD,
    BEGUN_BYTES,
    CONNECTIONS,
)


def evidence_limit(workload: Workload) -> Limit:
    """Return the limit for the evidence of a trial: a load of the user's own may be larger than any other."""
    return EVIDENCE if workload.load is None else EVIDENCE_OF_LOAD


class OverLimit(ClientBroken):
    """The client has exceeded one of its limits."""


class Meter:
    """Counts what one client uses in a trial: ``records`` with values of ``value_bytes``, in all ``partitions``."""

    def __init__(self, client: str, records: int, value_bytes: int = 0, partitions: int = 0) -> None:
        self.client = client
        self._records, self._value_bytes, self._partitions = records, value_bytes, partitions
        self._taken: Counter[Limit] = Counter()
        #: Why the client must stop, if it has exceeded a limit.
        self.exceeded: OverLimit | None = None

    def most(self, limit: Limit) -> int:
        """Return the limit in this trial. Limits that include values get room for a hundred times all values."""
        values = 100 * self._records * self._value_bytes if limit in _WITH_VALUES else 0
        return limit.of(self._records, self._partitions) + values

    def left(self, limit: Limit) -> int:
        """Return how much of the limit is left."""
        return max(0, self.most(limit) - self._taken[limit])

    def spend(self, limit: Limit, amount: int = 1) -> None:
        """Count ``amount`` of a quantity that adds up over the trial. Raises OverLimit once it exceeds the limit."""
        self._taken[limit] += amount
        self.hold(limit, self._taken[limit])

    def hold(self, limit: Limit, amount: int) -> None:
        """Check a quantity that does not add up, such as the length of one line. Raises OverLimit above the limit."""
        if amount > (most := self.most(limit)):
            self.exceeded = self.exceeded or OverLimit(
                "over-limit",
                "client {client} broke the contract: expected at most {most:,} {what}, got {amount:,}",
                client=self.client,
                most=most,
                what=limit.what,
                amount=amount,
            )
            raise self.exceeded


_WITH_VALUES: Final = frozenset({STORED_BYTES, REQUEST_BYTES})
