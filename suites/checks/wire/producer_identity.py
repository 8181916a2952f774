"""# producer-identity

## What it does

Checks the producer id, epoch and sequence of every batch on the wire. It looks for batches that lack one of
them, producer ids that no broker assigned, and a producer id or epoch that changes although nothing failed.

## Why it is bad

A broker recognizes a batch that is sent again only by producer id, epoch and sequence. A batch without them
is stored as often as it is sent, and so is a batch that is sent again under another identity.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden.
- **at-least-once, at-most-once**: not judged.

## What it needs

The witness's frames, the history and the faults as they happened. A change of identity is allowed if
something failed before it, and the previous identity was used for no longer than request.timeout.ms plus five
seconds after the failure. These count as failures: a Produce or InitProducerId request that was answered with
an error, late, or not at all; a connection that ended, unless the client closed one that never carried such
requests; a record without success; and a fault in effect. A new producer id after the last epoch, 32767, is
allowed too. A producer id is assigned by an InitProducerId response that passed before its first batch. If
the witness could not read a frame before that batch, there may have been another such response: inconclusive.
A change is also inconclusive if something stalled before it, or if a record waited behind other requests for
longer than request.timeout.ms, since a client may start that timeout when a request is queued. A batch that
the witness could not read is not judged.

## References

PRD-IDM-01 (KIP-98, KIP-360, KIP-679).
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import NamedTuple

from harness.judging.availability import Span, merged
from harness.model.anomaly import Anomaly, ReasonKind, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding, Frame, FrameKind, ProducePart
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level, Outcome
from harness.plugins.check import Check, Inconclusive, Requirement
from suites.analysis.attempts import CLIENT, PRODUCE
from suites.analysis.disturbance import stalled_by, stalled_ns
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import EXACTLY_ONCE
from suites.analysis.unread import unread
from suites.checks.wire.sent import Sent, is_numbered, sent

MISSING = Anomaly("identity-missing", "{count} of {batches} batches have no producer id, epoch or sequence")
CHANGED = Anomaly(
    "identity-changed", "the producer id or epoch changed although nothing had failed, {count:time}"
)
INVENTED = Anomaly("identity-invented", "{count:producer id} that no InitProducerId response assigned")
INIT = "InitProducerId"
WAITED = ReasonKind(
    "record-waited", "{of}: {told}, but records had waited behind other requests for {waited_ms} ms"
)
LAST_EPOCH = 32_767
#: A client reacts to a failure within its request timeout plus this.
GRACE_MS = 5_000

Stretch = tuple[int, int]
#: Why a finding is inconclusive, and how long that condition lasted.
Doubt = tuple[ReasonKind, dict[str, int]]


class Identity(NamedTuple):
    """A producer id and epoch, the time of its first batch, and that of its last batch before the next identity."""

    producer_id: int
    epoch: int
    first_ns: int
    last_ns: int


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    batches = [each for each in sent(evidence) if each.part.records is not None]
    missing = [each for each in batches if not is_numbered(each.part)]
    found = []
    if missing:
        found.append(MISSING.found(len(missing), map(_of_batch, missing), batches=len(batches)))
    identities = _identities(batches)
    if invented := _invented(evidence, identities):
        finding = INVENTED.found(len(invented), map(_of_identity, invented))
        doubt_if_unreadable(finding, _unread_before(evidence, invented[-1]))
        found.append(finding)
    if changed := list(_changed_without_reason(evidence, identities)):
        found += _told(evidence, changed)
    return found


def _identities(batches: list[Sent]) -> list[Identity]:
    """Return the identities in the order of their first use."""
    used: dict[tuple[int, int], list[int]] = {}
    newest: list[int] = []
    for each in batches:
        if is_numbered(each.part):
            known = (each.part.producer_id or 0, each.part.producer_epoch or 0)
            if known not in used:
                newest = used[known] = [each.asked_ns]
            elif used[known] is newest:
                newest.append(each.asked_ns)
    return [Identity(*identity, times[0], times[-1]) for identity, times in used.items()]


def _invented(evidence: Evidence, identities: list[Identity]) -> list[Identity]:
    """Return the first identity of each producer id that no broker can have assigned by then, in order of time."""
    given_ns = sorted(
        frame.t_ns
        for frame in evidence.frames
        if frame.kind is FrameKind.RESPONSE and frame.api == INIT and not frame.error_codes
    )
    firsts: dict[int, Identity] = {}
    for identity in identities:
        firsts.setdefault(identity.producer_id, identity)
    found = []
    for identity in sorted(firsts.values(), key=lambda identity: identity.first_ns):
        if given_ns and given_ns[0] <= identity.first_ns:
            given_ns.pop(0)
        else:
            found.append(identity)
    return found


@grants("unread-identity")
def _unread_before(evidence: Evidence, invented: Identity) -> int:
    """Return how many unread items may have contained the broker's assignment of this producer id."""
    return sum(each.begin_ns <= invented.first_ns for each in unread(evidence))


def _changed_without_reason(
    evidence: Evidence, identities: list[Identity]
) -> Iterator[tuple[Identity, Identity]]:
    """Yield the identities before and after each such change."""
    failures = _failures(evidence) if len(identities) > 1 else []
    for before, after in pairwise(identities):
        if not _is_spent(before, after) and not _has_failed(failures, before, after):
            yield before, after


@grants("last-epoch")
def _is_spent(before: Identity, after: Identity) -> bool:
    """True if the epoch could not be raised further and another producer id follows."""
    return before.epoch == LAST_EPOCH and before.producer_id != after.producer_id


@grants("failure-before-new-identity")
def _has_failed(failures: list[Stretch], before: Identity, after: Identity) -> bool:
    """True if a failure preceded the change and the client may still have reacted to it after the previous batch."""
    return any(begin_ns <= after.first_ns and end_ns >= before.last_ns for begin_ns, end_ns in failures)


def _told(evidence: Evidence, changed: list[tuple[Identity, Identity]]) -> list[Finding]:
    """Return the finding for these changes.

    Inconclusive if each change may follow from a request that timed out only at the client.
    """
    doubts = {
        after: _stalled(evidence, before, after) or _waited(evidence, before, after)
        for before, after in changed
    }
    accused = [after for after, doubt in doubts.items() if doubt is None]
    finding = CHANGED.found(len(accused or doubts), map(_of_identity, accused or doubts))
    if accused:
        return [finding]
    kind, lasted = next(doubt for doubt in doubts.values() if doubt is not None)
    raise Inconclusive(kind.reason(of=finding.anomaly, told=finding.message, **lasted))


@grants("stall-before-new-identity")
def _stalled(evidence: Evidence, before: Identity, after: Identity) -> Doubt | None:
    """Return what stalled before the change. The client may have given up a request that was answered late."""
    since_ns = before.last_ns - _timeout_ns(evidence) - GRACE_MS * NS_PER_MS
    stall = stalled_by(evidence, since_ns, after.first_ns)
    return None if stall is None else (stall[0], {"stalled_ms": stall[1]})


@grants("waited-before-new-identity")
def _waited(evidence: Evidence, before: Identity, after: Identity) -> Doubt | None:
    """Return how long requests were outstanding while a record waited, if another request may have timed out unsent."""
    pending = [
        send.invoke_ns
        for send in evidence.operations.values()
        if send.complete_ns is None or send.complete_ns > before.last_ns
    ]
    since_ns = min(pending, default=after.first_ns)
    out = merged(Span(each.asked_ns, each.answer.t_ns) for each in sent(evidence) if each.answer is not None)
    waited_ns = stalled_ns(out, since_ns, after.first_ns)
    return (WAITED, {"waited_ms": waited_ns // NS_PER_MS}) if waited_ns >= _timeout_ns(evidence) else None


def _timeout_ns(evidence: Evidence) -> int:
    return int(evidence.record.spec.config["request.timeout.ms"]) * NS_PER_MS


def _failures(evidence: Evidence) -> list[Stretch]:
    """Return the interval from each failure to the time by which a client has reacted to it."""
    timeout_ns = _timeout_ns(evidence)
    spans = [*_failed_requests(evidence, timeout_ns)]
    requests = (
        frame for frame in (*evidence.frames, *evidence.blocked_frames) if frame.kind is FrameKind.REQUEST
    )
    produced = {frame.conn for frame in requests if frame.api in (PRODUCE, INIT)}
    for frame in evidence.frames:
        if _ended(frame, produced) or (frame.api == INIT and frame.error_codes):
            spans.append((frame.t_ns, frame.t_ns))
    for send in evidence.operations.values():
        if send.outcome is not Outcome.OK and send.complete_ns is not None:
            spans.append((send.complete_ns, send.complete_ns))
    spans += [row.effective_ns for row in evidence.faults if row.effective_ns is not None]
    return [(begin_ns, end_ns + timeout_ns + GRACE_MS * NS_PER_MS) for begin_ns, end_ns in spans]


def _ended(frame: Frame, produced: AbstractSet[int]) -> bool:
    """True for the end of a connection, unless the client closed one that never carried these requests."""
    return frame.kind is FrameKind.CLOSE and (frame.conn in produced or frame.closed_by != CLIENT)


def _failed_requests(evidence: Evidence, timeout_ns: int) -> Iterator[Stretch]:
    for each in sent(evidence):
        answered_ns = each.answer.t_ns if each.answer else None
        if answered_ns is None or each.error_code or answered_ns - each.asked_ns > timeout_ns:
            yield each.asked_ns, answered_ns or each.asked_ns


def _of_batch(each: Sent) -> Sample:
    part: ProducePart = each.part
    return {
        "partition": part.partition,
        "producer_id": part.producer_id,
        "producer_epoch": part.producer_epoch,
        "base_sequence": part.base_sequence,
        "records": part.records,
        "conn": each.frame.conn,
        "correlation_id": each.frame.correlation_id,
        "at_ns": each.asked_ns,
    }


def _of_identity(identity: Identity) -> Sample:
    return {
        "producer_id": identity.producer_id,
        "producer_epoch": identity.epoch,
        "first_ns": identity.first_ns,
    }


def _batches(evidence: Evidence) -> int:
    return sum(each.part.records is not None for each in sent(evidence))


CHECK = Check(
    name="producer-identity",
    summary="Batches of an idempotent producer without an identity, or under one that changes for no reason.",
    requirements=(Requirement("PRD-IDM-01", Level.MUST, arises=_batches),),
    guarantees=EXACTLY_ONCE,
    requires=frozenset({"frames", "history", "faults"}),
    killed_mutant="batch_without_sequence",
    run=run,
)
