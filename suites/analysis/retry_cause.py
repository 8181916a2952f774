"""Why a client sent a batch again, and why a record was overtaken, as far as the witness can see: E2E-DEL-03.

A retry needs a cause in the attempt before it:

- the broker answered that attempt with an error; or
- its connection ended before its answer can have reached the client; or
- no answer can have reached the client within request.timeout.ms.

The attempts of a record are put into the order that accuses the client least, among the orders that their
intervals allow (:mod:`suites.analysis.sending`). A retry without a cause of its own may have a neighbouring
cause: an attempt that failed on the record's path during the record's life. The copy was then avoidable. The
life of a record ends when the client reports it as written, unless its own request failed in part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from harness.model.evidence import Evidence, Operation
from harness.model.rows import LogRecord
from harness.model.verdicts import Outcome
from harness.workloads.produce.accounting import Inversion
from suites.analysis.attempts import Attempt, BatchPlace, attempts, batch_place, origins
from suites.analysis.disturbance import harness_stalls, stalled_ns
from suites.analysis.excuses import grants
from suites.analysis.failures import Failure, Path, failures, paths
from suites.analysis.homes import growths_ns
from suites.analysis.sending import Sending, sending
from suites.analysis.way import SLACK_NS

#: For a record with more copies than this, only one order is tried: that of their latest times.
MAX_ORDERED = 7


class Cause(IntEnum):
    """Whose failure explains what a client did: that of the attempt itself, of a neighbour, or of none."""

    OWN = 0
    NEIGHBOUR = 1
    NONE = 2


class Why(IntEnum):
    """Why no failure explains a copy. ``SAID`` holds the sentences."""

    NOTHING_FAILED = 0
    ALREADY_WRITTEN = 1
    OTHER_PARTITION = 2
    TWICE_IN_ONE_REQUEST = 3
    NO_REQUEST = 4


CODES = {
    Why.NOTHING_FAILED: "nothing-failed",
    Why.ALREADY_WRITTEN: "already-written",
    Why.OTHER_PARTITION: "other-partition",
    Why.TWICE_IN_ONE_REQUEST: "twice-in-one-request",
    Why.NO_REQUEST: "no-request",
}
SAID = {
    Why.NOTHING_FAILED: "it was sent again although nothing was wrong with the earlier request",
    Why.ALREADY_WRITTEN: "it was sent again after it had been reported as written",
    Why.OTHER_PARTITION: "it was sent again to another partition",
    Why.TWICE_IN_ONE_REQUEST: "it was twice in one request",
    Why.NO_REQUEST: "no Produce request that the witness saw put it there",
}


@dataclass(frozen=True)
class Explanation:
    """The weakest cause that the story of a record needs, and what is wrong if it has none.

    ``attempts`` are the attempts that wrote the record's copies.
    """

    cause: Cause
    why: Why = Why.NOTHING_FAILED
    attempts: tuple[Attempt, ...] = ()


class _Tale(NamedTuple):
    """The stored attempts of a record, in order. ``heard``: the attempts whose place the application was given."""

    made: tuple[Attempt, ...]
    handed_over_ns: int
    told_ns: int | None
    heard: frozenset[Attempt]


@dataclass(frozen=True)
class Explainer:
    """The rules, applied to the evidence of one trial."""

    evidence: Evidence
    _stories: dict[tuple[object, ...], Explanation] = field(default_factory=dict)

    @cached_property
    def sending(self) -> Sending:
        """The intervals in which attempts can have been sent."""
        return sending(self.evidence)

    @cached_property
    def _origins(self) -> dict[BatchPlace, Attempt]:
        return origins(self.evidence)

    @cached_property
    def _failures(self) -> list[Failure]:
        return failures(self.evidence)

    @cached_property
    def _paths(self) -> dict[int, Path]:
        return paths(self.evidence)

    @cached_property
    def _appended_ns(self) -> dict[BatchPlace, int]:
        """When each batch was in the log at the latest, by its own answer or by that of a later batch."""
        found: dict[BatchPlace, int] = {}
        lowest: dict[int, int] = {}
        for place in sorted(self._origins, reverse=True):
            attempt = self._origins[place]
            if attempt.answered_ns is not None:
                known = lowest.get(place.partition, attempt.answered_ns)
                lowest[place.partition] = min(known, attempt.answered_ns)
            if place.partition in lowest:
                found[place] = lowest[place.partition]
        return found

    def origin(self, record: LogRecord) -> Attempt | None:
        """Return the attempt that put ``record`` into the log, or None if the witness saw none that can have."""
        return self._origins.get(batch_place(record))

    def copies(self, n: int, copies: Sequence[LogRecord]) -> Explanation:
        """Return what explains that record ``n`` is in the log at all these places."""
        made = [self.origin(copy) for copy in copies]
        known = tuple(sorted((attempt for attempt in made if attempt is not None), key=_passed))
        if len(known) < len(made):
            return Explanation(Cause.NONE, Why.NO_REQUEST, known)
        if len(set(known)) < len(known):
            return Explanation(Cause.NONE, Why.TWICE_IN_ONE_REQUEST, known)
        if (
            copies[0].key is not None
            and len({copy.partition for copy in copies}) > 1
            and not self._grew(known)
        ):
            return Explanation(Cause.NONE, Why.OTHER_PARTITION, known)
        send = self.evidence.operations.get(n)
        told_ns = send.complete_ns if send is not None and send.outcome is Outcome.OK else None
        handed_over_ns = 0 if send is None else send.invoke_ns
        heard = [
            attempt
            for copy, attempt in zip(copies, made, strict=True)
            if attempt is not None and send is not None and _is_told_of(send, copy)
        ]
        # Records of a batch share one story, except for their hand-over and result times and the reported copy.
        tale = _Tale(known, handed_over_ns, told_ns, frozenset(heard))
        requests = (*(attempt.request for attempt in known), *(-attempt.request for attempt in heard))
        key = (requests, known[0].part.partition, handed_over_ns, told_ns)
        if key not in self._stories:
            self._stories[key] = self._story(tale)
        return self._stories[key]

    @grants("overtaken-retry")
    def overtaking(self, found: Inversion) -> Cause:
        """Return whose failure explains that a record is after a later one in its partition.

        The cause is the record's own if its own attempt failed, or can have failed unseen, after the record was handed
        over and before the broker had the request that delivered it. Two records of one batch are in the order in which
        the client put them there, and no failure excuses that.
        """
        send, partition = self.evidence.operations[found.n], found.record.partition
        until_ns = self._sent_by_ns(found)
        conns = {
            attempt.conn
            for attempt in self._attempts[partition]
            if send.invoke_ns <= attempt.asked_ns <= until_ns
        }
        cause = Cause.NONE
        for failure in self._on_path(partition, send.invoke_ns, until_ns, conns):
            cause = min(cause, Cause.OWN if self._may_be_of(failure, found) else Cause.NEIGHBOUR)
        return max(cause, Cause.NEIGHBOUR) if found.n in self._turned_in_batch else cause

    def _sent_by_ns(self, found: Inversion) -> int:
        """Return by when the broker had the request that delivered an overtaken record.

        If that is unknown, return by when the record was in the log.

        An attempt without an answer may not be the one that delivered the record, and a broker that answers
        late may have read the request late.
        """
        origin, send = self.origin(found.record), self.evidence.operations[found.n]
        answered_ns = origin.answered_ns if origin and origin.accepted else None
        if origin is not None and answered_ns is not None and answered_ns - origin.sent_ns <= SLACK_NS:
            return origin.sent_ns
        until_ns = self._appended_ns.get(batch_place(found.record), send.complete_ns)
        if until_ns is not None:
            return until_ns
        return origin.asked_ns if origin else send.invoke_ns

    def _may_be_of(self, failure: Failure, found: Inversion) -> bool:
        """True if a failed attempt can have contained the record: the attempt is unseen or its content is unknown."""
        partition = found.record.partition
        if failure.partitions is not None and partition not in failure.partitions:
            return False
        invoke_ns = self.evidence.operations[found.n].invoke_ns
        if failure.is_unseen and failure.span.latest_ns < invoke_ns:
            return False
        return not failure.attempts or any(
            each.part.partition == partition
            and each.asked_ns >= invoke_ns
            and found.n in self._numbers_of.get((partition, each.part.crc), {found.n})
            for each in failure.attempts
        )

    @cached_property
    def _attempts(self) -> Mapping[int, list[Attempt]]:
        by_partition = defaultdict[int, list[Attempt]](list)
        for attempt in attempts(self.evidence):
            by_partition[attempt.part.partition].append(attempt)
        return by_partition

    @cached_property
    def _numbers_of(self) -> Mapping[tuple[int, int | None], set[int]]:
        """Maps a partition and a batch's CRC to the numbers of the batch's records in the log."""
        of_batch = defaultdict[tuple[int, int | None], set[int]](set)
        for record, n in zip(self.evidence.log, self.evidence.numbers, strict=True):
            if n is not None:
                of_batch[record.partition, record.batch_crc].add(n)
        return of_batch

    @cached_property
    def _turned_in_batch(self) -> set[int]:
        """The records that are after a later record in the same batch."""
        turned: set[int] = set()
        highest: dict[BatchPlace, int] = {}
        for record, n in zip(self.evidence.log, self.evidence.numbers, strict=True):
            if n is None or record.control:
                continue
            place = batch_place(record)
            if highest.get(place, -1) > n:
                turned.add(n)
            else:
                highest[place] = n
        return turned

    def _story(self, tale: _Tale) -> Explanation:
        """Return the story of these attempts that accuses the client least."""
        for cause in (Cause.OWN, Cause.NEIGHBOUR):
            if self._is_tellable(tale, cause):
                return Explanation(cause, attempts=tale.made)
        late = tale.told_ns is not None and any(self._is_told(each, tale.told_ns) for each in tale.made)
        return Explanation(Cause.NONE, Why.ALREADY_WRITTEN if late else Why.NOTHING_FAILED, tale.made)

    def _is_tellable(self, tale: _Tale, weakest: Cause) -> bool:
        """True if the intervals allow an order in which each attempt has a cause no weaker than ``weakest``.

        For many attempts, only the order in which they passed the witness is tried.
        """
        if len(tale.made) > MAX_ORDERED:
            return all(self._cause(tale, earlier, later) <= weakest for earlier, later in pairwise(tale.made))

        def goes_on(earlier: Attempt | None, left: tuple[Attempt, ...]) -> bool:
            if not left:
                return True
            for at, later in enumerate(left):
                rest = (*left[:at], *left[at + 1 :])
                if not all(self.sending.may_precede(later, each) for each in rest):
                    continue
                if earlier is not None and self._cause(tale, earlier, later) > weakest:
                    continue
                if goes_on(later, rest):
                    return True
            return False

        return goes_on(None, tale.made)

    @grants("neighbour-failed", "request-failed-in-part")
    def _cause(self, tale: _Tale, earlier: Attempt, later: Attempt) -> Cause:
        if tale.told_ns is not None and self._is_told(later, tale.told_ns):
            return Cause.NEIGHBOUR if any(earlier.errors) else Cause.NONE
        is_heard = earlier in tale.heard
        if self._failed_before(earlier, later, is_heard):
            return Cause.OWN
        lost = None if is_heard else self.sending.lost_beside(earlier)
        if lost is not None and lost.earliest_ns <= later.asked_ns:
            return Cause.NEIGHBOUR
        # An earlier failure is still being handled for a while, and its handling may cause this retry.
        since_ns = max(tale.handed_over_ns, self.sending.sent(earlier).earliest_ns - self.sending.timeout_ns)
        conns = {earlier.conn, later.conn}
        beside = self._on_path(earlier.part.partition, since_ns, later.asked_ns, conns)
        return Cause.NEIGHBOUR if any(earlier.errors) or any(True for _ in beside) else Cause.NONE

    @grants("harness-stalled")
    def _is_told(self, attempt: Attempt, told_ns: int) -> bool:
        """True if the attempt was sent after the record had been reported as written, even at the earliest.

        Stalls of the harness that lasted until it saw the attempt may have delayed what it saw by their length.
        """
        known = self.sending
        earliest_ns = known.sent(attempt).earliest_ns
        stalls = (each for each in harness_stalls(self.evidence) if each.end_ns >= earliest_ns - SLACK_NS)
        late_ns = stalled_ns(stalls, told_ns, earliest_ns)
        return earliest_ns - late_ns > told_ns + SLACK_NS or known.not_before_ns(attempt) > told_ns

    def _failed_before(self, earlier: Attempt, later: Attempt, is_heard: bool) -> bool:
        """True if the client can have known that ``earlier`` had failed when it sent ``later``.

        An attempt whose answer the client passed on was not lost, whatever happened to its connection.
        """
        until_ns = later.asked_ns
        if earlier.answered_ns is not None and earlier.error_code != 0 and earlier.answered_ns <= until_ns:
            return True
        known = self.sending
        lost = None if is_heard else known.lost_with_connection(earlier)
        if lost is not None and earlier.conn != later.conn and known.known_lost_ns(earlier, lost) <= until_ns:
            return True
        overdue = known.timed_out(earlier)
        return overdue is not None and overdue.earliest_ns <= until_ns

    def _on_path(
        self, partition: int, begin_ns: int, end_ns: int, conns: AbstractSet[int]
    ) -> Iterator[Failure]:
        """Yield the failures in this interval on the path of a partition's attempts, which used ``conns``.

        If the witness saw all failed attempts, they were of this partition or on one of these connections.
        """
        path = self._paths.get(partition)
        return (
            each
            for each in self._failures
            if path is not None
            and each.meets(begin_ns, end_ns)
            and path.crosses(each)
            and (each.partitions is None or partition in each.partitions or each.conn in conns)
        )

    @grants("topic-growth")
    def _grew(self, made: Iterable[Attempt]) -> bool:
        """True if the topic grew before the last of these attempts, so that keys map to other partitions."""
        until_ns = max(attempt.asked_ns for attempt in made)
        return any(at_ns <= until_ns for at_ns in growths_ns(self.evidence))


def _passed(attempt: Attempt) -> int:
    return attempt.request


def _is_told_of(send: Operation, copy: LogRecord) -> bool:
    """True if the client gave this copy's place as the place of the record."""
    return send.outcome is Outcome.OK and (send.partition, send.offset) == (copy.partition, copy.offset)
