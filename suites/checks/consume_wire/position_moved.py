"""# position-moved

## What it does

Looks at the offset from which a process fetches a partition after an answer that reported an error for it, and at the
offset with which it begins after ListOffsets could not tell one.

## Why it is bad

Most errors of a Fetch say nothing about offsets: the leader has moved, or the broker is busy. A client that begins
again at the end of the log then skips records, and one that begins at its start reads everything twice.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. After an error other than OFFSET_OUT_OF_RANGE, the next Fetch of the
  partition names the same offset, or an earlier one whose records the application does not have yet. Without an offset
  from its coordinator or its leader, no Fetch is sent. With auto.offset.reset=none, OFFSET_OUT_OF_RANGE moves nothing
  either.

The position may move for other reasons: the application seeks, the partition is assigned again, or the leader says that
its log differs (KIP-320). Nothing is judged if one of them came between, or if another answer brought records.

## What it needs

The witness's frames and the members' histories.

## References

CSM-FET-06 (``FetchCollector#handleInitializeErrors``). librdkafka issue 2625 and ruby-kafka issue 933 are reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_rows import OffsetPart
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from harness.workloads.consume import accounting
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.calls import calls
from suites.analysis.consuming.places import answered_ns, may_be_set
from suites.analysis.consuming.promised import RESET
from suites.analysis.consuming.tried import is_tried
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.analysis.way import SLACK_NS

FETCH, STORED, LOOKUP, EPOCHS = "Fetch", "OffsetFetch", "ListOffsets", "OffsetForLeaderEpoch"
OUT_OF_RANGE: Final = BY_NAME["OFFSET_OUT_OF_RANGE"].code
MOVED = Anomaly(
    "position-moved", "{count:Fetch} from another offset after an error that is not about the offset"
)
INVENTED = Anomaly(
    "position-invented",
    "{count:partition} fetched although neither coordinator nor leader had told an offset",
)
NONE_MOVED = Anomaly(
    "reset-against-policy",
    "{count:Fetch} from another offset after OFFSET_OUT_OF_RANGE, although auto.offset.reset is none",
)


class Try(NamedTuple):
    """A Fetch of a partition after one that brought errors alone. ``codes`` are those of the answers between."""

    before: Asked
    asked: OffsetPart
    fetch: Asked
    offset: int
    codes: tuple[int, ...]

    @property
    def partition(self) -> int:
        """The partition's number."""
        return self.asked.partition


class _Place:
    """What a process has asked of one partition since it last named an offset, and what it was told."""

    def __init__(self, before: Asked, asked: OffsetPart) -> None:
        self.before, self.asked = before, asked
        self.pending: list[Asked] = []

    def answers(self, until_ns: int) -> Iterator[OffsetPart]:
        """Yield what was told about the partition, or about the whole request, until then."""
        for each in self.pending:
            answer = each.answer
            if answer is None or answer.t_ns >= until_ns:
                continue
            told = [part for part in answer.offsets if _same(part, self.asked)]
            yield from told
            if not told and answer.fetch is not None and answer.fetch.error_code:
                yield OffsetPart(self.asked.topic, self.asked.partition, error_code=answer.fetch.error_code)


def _same(one: OffsetPart, other: OffsetPart) -> bool:
    return one.topic == other.topic and one.partition == other.partition


@view
def tries(evidence: Evidence) -> list[Try]:
    """Return each Fetch that names an offset after answers with errors and without data about its partition."""
    return [
        each
        for process, requests in of_group(evidence, FETCH).items()
        if is_tried(evidence, process)
        for each in _of_process(evidence.record.topic, requests)
    ]


def _of_process(topic: str, requests: list[Asked]) -> Iterator[Try]:
    places: dict[int, _Place] = {}
    for each in requests:
        for part in each.request.offsets:
            if part.topic != topic or part.offset is None:
                continue
            known = places.get(part.partition)
            if known is not None and (codes := _errors_alone(known, each)):
                yield Try(known.before, known.asked, each, part.offset, codes)
            places[part.partition] = _Place(each, part)
        named = {part.partition for part in each.request.offsets}
        for partition, place in places.items():
            if partition not in named and _goes_on(place, each) and (codes := _errors_alone(place, each)):
                yield Try(place.before, place.asked, each, place.asked.offset or 0, codes)
                places[partition] = _Place(each, place.asked)
            places[partition].pending.append(each)


def _goes_on(place: _Place, fetch: Asked) -> bool:
    """Return whether a Fetch in a session asks for a partition from the same offset again, by not naming it."""
    session = fetch.request.fetch
    is_within = session is not None and (session.session_epoch or 0) > 0
    return is_within and fetch.request.conn == place.before.request.conn


def _errors_alone(place: _Place, fetch: Asked) -> tuple[int, ...]:
    """Return the errors that were told until a Fetch, or none if other answers may have brought records."""
    told = list(place.answers(fetch.request.arrived_ns))
    if any(part.data_bytes and not part.error_code for part in told):
        return ()
    return tuple(part.error_code for part in told if part.error_code)


def moved(evidence: Evidence) -> Iterator[tuple[Anomaly, Try]]:
    """Yield each Fetch whose offset only an error explains."""
    is_none = RESET not in evidence.record.not_set and evidence.record.spec.config.get(RESET) == "none"
    for each in tries(evidence):
        is_out = OUT_OF_RANGE in each.codes
        if (is_out and not is_none) or _is_right(evidence, each):
            continue
        if not may_have_moved(evidence, each):
            yield (NONE_MOVED if is_out else MOVED), each


def _is_right(evidence: Evidence, each: Try) -> bool:
    """Return whether a Fetch goes on from the offset of the one before, or where the application is."""
    before = each.asked.offset or 0
    return each.offset == before or _needed(evidence, each) <= each.offset < before


def _needed(evidence: Evidence, each: Try) -> int:
    """Return the first offset that the process's application does not have, as far as it is known."""
    process, at_ns = each.fetch.process, each.fetch.request.arrived_ns
    since_ns = max(
        (ns for ns in answered_ns(evidence, process, STORED) if ns < each.before.request.arrived_ns),
        default=0,
    )
    got = [
        delivery.offset
        for delivery in accounting.deliveries(evidence)
        if (delivery.member, delivery.partition) == (process, each.partition)
        and since_ns <= delivery.polled_ns <= at_ns
    ]
    if got:
        return got[-1] + 1
    return min(
        part.offset
        for request in of_group(evidence, FETCH)[process]
        if since_ns <= request.request.arrived_ns < at_ns
        for part in request.request.offsets
        if _same(part, each.asked) and part.offset is not None
    )


def may_have_moved(evidence: Evidence, each: Try) -> bool:
    """Return whether the position may have been set, or a broker may have told that the log differs."""
    process, begin_ns = each.fetch.process, each.before.sent_ns - SLACK_NS
    end_ns = each.fetch.request.arrived_ns
    differs_ns = chain(answered_ns(evidence, process, EPOCHS), _diverged_ns(evidence, process))
    return may_be_set(evidence, process, each.partition, each.before.sent_ns, end_ns) or any(
        begin_ns <= at_ns <= end_ns for at_ns in differs_ns
    )


def _diverged_ns(evidence: Evidence, process: str) -> Iterator[int]:
    """Yield when answers to Fetch told that the log differs from what was read."""
    for each in of_group(evidence, FETCH)[process]:
        if each.answer is not None and any(part.offset is not None for part in each.answer.offsets):
            yield each.answer.t_ns


class Begin(NamedTuple):
    """The first Fetch of a partition by a process to which ListOffsets had failed. ``is_told``: it knew an offset."""

    fetch: Asked
    partition: int
    is_told: bool


@view
def begins(evidence: Evidence) -> list[Begin]:
    """Return the first Fetch of each partition whose offset ListOffsets had failed to tell."""
    found = []
    for process, requests in of_group(evidence, FETCH, STORED, LOOKUP).items():
        seen: set[int] = set()
        for at, each in enumerate(requests):
            if each.api != FETCH or not is_tried(evidence, process):
                continue
            for part in each.request.offsets:
                if part.topic == evidence.record.topic and part.partition not in seen:
                    seen.add(part.partition)
                    told = list(_told(requests[:at], part, each.request.arrived_ns))
                    if any(api == LOOKUP and one.error_code for api, one in told):
                        found.append(Begin(each, part.partition, any(_is_told(*one) for one in told)))
    return found


def _told(before: list[Asked], asked: OffsetPart, until_ns: int) -> Iterator[tuple[str, OffsetPart]]:
    for each in before:
        if each.answer is not None and each.answer.t_ns < until_ns and each.api != FETCH:
            yield from ((each.api, part) for part in each.answer.offsets if _same(part, asked))


def _is_told(api: str, part: OffsetPart) -> bool:
    """Return whether an answer told an offset. The first version of ListOffsets tells several, which no row has."""
    return not part.error_code and (api == LOOKUP or (part.offset is not None and part.offset >= 0))


def _invented(evidence: Evidence) -> Iterator[Begin]:
    """Yield the begins without an offset, of processes whose application sets no positions itself."""
    return (
        each
        for each in begins(evidence)
        if not each.is_told and not any(calls(evidence, each.fetch.process, ("seek", "assign")))
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    cases: dict[Anomaly, list[Sample]] = {}
    for anomaly, each in moved(evidence):
        cases.setdefault(anomaly, []).append(_sample(each))
    for begin in _invented(evidence):
        cases.setdefault(INVENTED, []).append(
            {
                "member": begin.fetch.process,
                "partition": begin.partition,
                "at_ns": begin.fetch.request.arrived_ns,
            }
        )
    found = [anomaly.found(len(samples), samples) for anomaly, samples in cases.items()]
    for finding in found:
        doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _sample(each: Try) -> Sample:
    return {
        "member": each.fetch.process,
        "partition": each.partition,
        "offset": each.offset,
        "offset_before": each.asked.offset,
        "error_code": each.codes[0],
        "at_ns": each.fetch.request.arrived_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(tries(evidence)) + len(begins(evidence))


CHECK = Check(
    name="position-moved",
    summary="Fetch requests from another offset after errors that are not about offsets.",
    requirements=(Requirement("CSM-FET-06", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="any_error_resets_the_position",
    run=run,
    workloads=frozenset({"consume"}),
)
