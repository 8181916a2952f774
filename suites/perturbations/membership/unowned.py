"""Fetch requests of partitions that their process had given up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace as changed

from harness.model.consumer_rows import FetchPart, OffsetPart
from harness.model.evidence import Evidence
from suites.analysis.consuming.timing import SLACK_NS
from suites.checks.consume_wire.fetches_unowned import given_up_ns, goes_on, wanted
from suites.perturbations.consuming.edits import nap, with_added
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import with_edits
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")


class Late(NamedTuple):
    """The first Fetch (its place in ``wanted``) that may not ask for a partition, given up at ``ended_ns``."""

    at: int
    partition: int
    ended_ns: int


def _late(evidence: Evidence) -> Iterator[Late]:
    known: set[tuple[str, int, int]] = set()
    for at, each in enumerate(wanted(evidence)):
        for partition in range(evidence.record.spec.workload.partitions):
            ended_ns = given_up_ns(evidence, each.fetch, partition)
            key = each.fetch.process, partition, ended_ns or 0
            if ended_ns is not None and key not in known:
                known.add(key)
                yield Late(at, partition, ended_ns)


def _places(evidence: Evidence) -> Sequence[Late]:
    return list(_late(evidence))


def _named(evidence: Evidence, place: Late, skips: int = 0) -> Evidence:
    """The request asks for the partition, and with ``skips`` its session has missed as many before it."""
    request = wanted(evidence)[place.at].fetch.request
    said = request.fetch or FetchPart()
    part = OffsetPart(evidence.record.topic, place.partition, offset=0)
    session = changed(said, session_epoch=(said.session_epoch or 0) + skips)
    edited = changed(request, fetch=session, offsets=(*request.offsets, part))
    return with_edits(evidence, {id(request): edited})


def _in_sessions(evidence: Evidence) -> Sequence[Late]:
    return [place for place in _late(evidence) if _epoch(evidence, place.at) > 0]


def _epoch(evidence: Evidence, at: int) -> int:
    return (wanted(evidence)[at].fetch.request.fetch or FetchPart()).session_epoch or 0


def _after_a_gap(evidence: Evidence, place: Late) -> Evidence:
    return _named(evidence, place, skips=1)


def _after_a_nap(evidence: Evidence, place: Late) -> Evidence:
    """The process was frozen in between, for less than the time that its request was late."""
    fetch = wanted(evidence)[place.at].fetch
    late_ns = fetch.sent_ns - place.ended_ns - SLACK_NS
    frozen = nap(evidence, fetch.process, place.ended_ns + 1, place.ended_ns + 1 + late_ns // 2)
    return with_added(_named(evidence, place), *frozen)


def _forgetting(evidence: Evidence) -> Sequence[Late]:
    """Return the requests that forget a partition, if a later one in the session could not ask for it."""
    found = []
    for at, each in enumerate(wanted(evidence)):
        for part in each.fetch.request.offsets:
            if part.topic != evidence.record.topic or not part.forgotten:
                continue
            later = list(_later(evidence, at))
            ended_ns = [given_up_ns(evidence, wanted(evidence)[one].fetch, part.partition) for one in later]
            if any(ended_ns):
                found.append(Late(at, part.partition, 0))
    return found


def _later(evidence: Evidence, at: int) -> Iterator[int]:
    """Yield the requests that go on with the session of this one, without naming its partitions again."""
    first = wanted(evidence)[at].fetch
    forgotten = {part.partition for part in first.request.offsets if part.forgotten}
    said = first.request.fetch or FetchPart()
    before = said.session_id or 0, said.session_epoch or 0
    for place, each in enumerate(wanted(evidence)[at + 1 :], at + 1):
        if (each.fetch.process, each.fetch.request.broker) != (first.process, first.request.broker):
            continue
        said = each.fetch.request.fetch or FetchPart()
        if not goes_on(before, said) or any(
            part.partition in forgotten for part in each.fetch.request.offsets
        ):
            return
        before = said.session_id or 0, said.session_epoch or 0
        yield place


def _kept(evidence: Evidence, place: Late) -> Evidence:
    request = wanted(evidence)[place.at].fetch.request
    left = [part for part in request.offsets if not (part.forgotten and part.partition == place.partition)]
    return with_edits(evidence, {id(request): changed(request, offsets=tuple(left))})


PERTURBATIONS = (
    of_consumers(
        "unowned-partition-fetched",
        FRAMES,
        "fetches a partition little more than a second after it gave it up",
        "unowned-fetch",
        _places,
        _named,
    ),
    of_consumers(
        "unowned-partition-kept-in-session",
        FRAMES,
        "leaves a partition in its fetch session that it has given up",
        "unowned-fetch",
        _forgetting,
        _kept,
    ),
    of_consumers(
        "unowned-partition-named-after-a-gap",
        FRAMES,
        "fetches a partition that it has given up, in a session that has missed a request",
        "unowned-fetch",
        _in_sessions,
        _after_a_gap,
    ),
    of_consumers(
        "unowned-partition-fetched-after-a-nap",
        channels("frames", "history"),
        "fetches a partition that it has given up, after more time than it was frozen for",
        "unowned-fetch",
        _places,
        _after_a_nap,
    ),
)
