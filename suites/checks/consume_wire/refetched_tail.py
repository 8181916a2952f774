"""# refetched-tail

## What it does

Looks for a process that asks again and again for the same offset, although each answer has brought it all that the
log has from there on: markers of transactions, and records of aborted ones, which are not for the application.

## Why it is bad

The client never goes past what it must leave out. It fetches the same bytes in a loop, as fast as the broker answers,
and its lag never becomes zero. Nothing behind that place would ever reach the application.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. Ten answers in a row that the process has read, at one offset.

An offset counts if no record that members must be given lies behind it: elsewhere another check has the last word.

## What it needs

The witness's frames, the members' histories, and every partition read to its end.

## References

CSM-FET-04 (``CompletedFetch``: the next offset is that after the batch). kafkajs issue 562 and kafka-python issue 1390
are known reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from suites.analysis.consuming.asked import of_group, unread_of_members
from suites.analysis.consuming.tried import is_tried
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

FETCH: Final = "Fetch"
#: As many answers in a row show that a process does not move on.
TIMES: Final = 10
REFETCHED = Anomaly(
    "refetched-tail",
    "{count:partition} of which a process fetched the same markers or aborted records again and again",
)


class Stay(NamedTuple):
    """How many answers with data a process read at one offset of a partition, without asking for another one."""

    process: str
    partition: int
    offset: int
    answers: int


def _stays_of(evidence: Evidence, process: str) -> Iterator[Stay]:
    """Yield each stay of a process. In a session a request names only the partitions whose offset has changed.

    An answer counts with the next request on its connection: the client has read it then.
    """
    topic = evidence.record.topic
    at: dict[int, Stay] = {}
    unread: dict[int, list[tuple[int, int]]] = {}
    for each in of_group(evidence, FETCH)[process]:
        for asked in each.request.offsets:
            stay = at.get(asked.partition)
            if asked.topic != topic or asked.offset is None:
                continue
            if stay is None or stay.offset != asked.offset:
                if stay is not None:
                    yield stay
                at[asked.partition] = Stay(process, asked.partition, asked.offset, 0)
        for partition, offset in unread.pop(each.request.conn, ()):
            if at[partition].offset == offset:
                at[partition] = at[partition]._replace(answers=at[partition].answers + 1)
        if each.answer is not None:
            unread[each.request.conn] = [
                (told.partition, at[told.partition].offset)
                for told in each.answer.offsets
                if told.topic == topic and told.data_bytes and not told.error_code and told.partition in at
            ]
    yield from at.values()


@view
def begins(evidence: Evidence) -> dict[int, int]:
    """Return partition -> the first offset behind its last record for the application, where the log has more."""
    ends: dict[int, int] = {}
    for partition, offset in accounting.items(evidence):
        ends[partition] = max(ends.get(partition, 0), offset + 1)
    return {row.partition: end for row in evidence.log if row.offset >= (end := ends.get(row.partition, 0))}


@view
def tails(evidence: Evidence) -> list[Stay]:
    """Return the stays where nothing behind the offset is for the application, of logs that end with such a tail."""
    known = begins(evidence)
    return [
        stay
        for process in of_group(evidence, FETCH)
        if is_tried(evidence, process)
        for stay in _stays_of(evidence, process)
        if stay.partition in known and stay.offset >= known[stay.partition]
    ]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the partitions of processes."""
    stuck = [stay for stay in tails(evidence) if stay.answers >= TIMES]
    if not stuck:
        return []
    found = REFETCHED.found(
        len(stuck),
        (
            {
                "member": stay.process,
                "partition": stay.partition,
                "offset": stay.offset,
                "answers": stay.answers,
            }
            for stay in stuck
        ),
    )
    doubt_if_unreadable(found, unread_of_members(evidence))
    return [found]


def _arises(evidence: Evidence) -> int:
    """Count the partitions of processes that have read up to such a tail, or beyond it."""
    return len({(stay.process, stay.partition) for stay in tails(evidence)})


CHECK = Check(
    name="refetched-tail",
    summary="Markers and aborted records at a log's end, fetched again and again.",
    requirements=(Requirement("CSM-FET-04", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history", "log"}),
    killed_mutant="stalls_at_markers",
    run=run,
    workloads=frozenset({"consume"}),
)
