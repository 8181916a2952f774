"""Fetch requests from another offset, after errors that are not about offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace as changed

from harness.model.consumer_contract import Position
from harness.model.consumer_rows import OffsetPart
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.lives import lives
from suites.analysis.way import SLACK_NS
from suites.checks.consume_wire.position_moved import FETCH, LOOKUP, OUT_OF_RANGE, Try, may_have_moved
from suites.perturbations.consuming.edits import called, with_added
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.edits import with_config
from suites.perturbations.membership.exchanges import with_edits
from suites.perturbations.perturbation import channels

NOT_LEADER = BY_NAME["NOT_LEADER_OR_FOLLOWER"].code


class Read(NamedTuple):
    """A Fetch of a partition whose answer brought records, and the next one, which goes on behind them."""

    first: Asked
    asked: OffsetPart
    next: Asked


def reads(evidence: Evidence) -> Iterator[Read]:
    """Yield each Fetch of a partition that brought records, with the next one."""
    topic = evidence.record.topic
    for requests in of_group(evidence, FETCH).values():
        last: dict[int, tuple[Asked, OffsetPart]] = {}
        for each in requests:
            for part in each.request.offsets:
                if part.topic != topic or part.offset is None:
                    continue
                first, asked = last.get(part.partition, (each, part))
                last[part.partition] = each, part
                if (asked.offset or 0) < part.offset and _is_of(first, part, each):
                    yield Read(first, asked, each)


def _is_of(first: Asked, asked: OffsetPart, later: Asked) -> bool:
    """Return whether the answer to the first Fetch brought records before the later one was sent."""
    answer = first.answer
    return (
        answer is not None
        and answer.t_ns < later.request.arrived_ns
        and any(part.partition == asked.partition and part.data_bytes for part in answer.offsets)
    )


def _places(evidence: Evidence) -> Sequence[int]:
    """Return the reads whose next offset only their records explain."""
    return [
        at
        for at, read in enumerate(reads(evidence))
        if not may_have_moved(evidence, Try(read.first, read.asked, read.next, 0, (NOT_LEADER,)))
    ]


def _failed(evidence: Evidence, place: int, code: int = NOT_LEADER) -> Evidence:
    """The answer has an error instead of records."""
    read = list(reads(evidence))[place]
    answer = read.first.answer
    assert answer is not None
    parts = tuple(
        [
            changed(part, error_code=code, data_bytes=0) if part.partition == read.asked.partition else part
            for part in answer.offsets
        ]
    )
    return with_edits(evidence, {id(answer): changed(answer, offsets=parts, error_codes=(code,))})


def _failed_under_none(evidence: Evidence, place: int) -> Evidence:
    """The answer says that the offset is out of range, and the application wants to know."""
    return with_config(_failed(evidence, place, OUT_OF_RANGE), auto_offset_reset="none")


def _later(evidence: Evidence) -> Sequence[int]:
    """Return the places whose process has lived for some time."""
    found, known = list(reads(evidence)), lives(evidence)
    return [
        at
        for at in _places(evidence)
        if found[at].first.sent_ns - known[found[at].first.process].begin_ns > 3 * SLACK_NS
    ]


def _failed_after_a_seek(evidence: Evidence, place: int) -> Evidence:
    """The same, some time after the application had set a position."""
    read = list(reads(evidence))[place]
    at_ns = read.first.sent_ns - SLACK_NS - NS_PER_MS
    topic, partition = evidence.record.topic, read.asked.partition
    sought = called(evidence, read.first.process, "seek", Position(topic, partition, 0), at_ns)
    return with_added(_failed(evidence, place), *sought)


def _lookups(evidence: Evidence) -> list[Asked]:
    """Return the only ListOffsets of processes to which their group told no offset."""
    found = []
    for requests in of_group(evidence, "OffsetFetch", LOOKUP, FETCH).values():
        made = [each for each in requests if each.api == LOOKUP and each.answer is not None]
        told = (
            part
            for each in requests
            if each.api == "OffsetFetch" and each.answer
            for part in each.answer.offsets
        )
        if len(made) == 1 and not any((part.offset or 0) >= 0 for part in told):
            found += made
    return found


def _not_told(evidence: Evidence, place: int) -> Evidence:
    """The answer to ListOffsets has an error, and the process begins all the same."""
    answer = _lookups(evidence)[place].answer
    assert answer is not None
    parts = tuple([changed(part, offset=-1, error_code=NOT_LEADER) for part in answer.offsets])
    return with_edits(evidence, {id(answer): changed(answer, offsets=parts, error_codes=(NOT_LEADER,))})


PERTURBATIONS = (
    of_consumers(
        "position-lost-over-an-error",
        channels("frames"),
        "fetches from another offset after an error that is not about the offset",
        "position-moved",
        _places,
        _failed,
        Verdict.FAIL,
    ),
    of_consumers(
        "position-lost-long-after-a-seek",
        channels("frames", "history"),
        "fetches from another offset after an error, some time after the application had set a position",
        "position-moved",
        _later,
        _failed_after_a_seek,
        Verdict.FAIL,
    ),
    of_consumers(
        "position-reset-against-policy",
        channels("frames", "record"),
        "fetches from another offset although the application wants to be told that its offset is out of range",
        "reset-against-policy",
        _places,
        _failed_under_none,
        Verdict.FAIL,
    ),
    of_consumers(
        "position-invented",
        channels("frames"),
        "begins to fetch although ListOffsets told no offset",
        "position-invented",
        lambda evidence: range(len(_lookups(evidence))),
        _not_told,
        Verdict.FAIL,
    ),
)
