"""Simulated trials of the reference client, and the definition of consistent evidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise

from harness.model.contract import OpComplete, OpInvoke
from harness.model.evidence import Evidence
from harness.model.harness_events import (
    HARNESS,
    AsideWritten,
    HarnessEvent,
    RecordsWritten,
    TransactionEnded,
)
from harness.model.mode import BOTH_MODES
from harness.model.rows import FrameKind
from harness.model.verdicts import Guarantee
from harness.planning import selection
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID
from harness.simulated.selection import assert_simulated
from harness.simulated.trial import SimulatedTrial

#: Calm, and with the events that a perturbation may need: attempts without a response, requests that never arrive.
SITUATIONS = (
    ("produce/calm", Guarantee.AT_LEAST_ONCE),
    ("produce/calm", Guarantee.IDEMPOTENT),
    ("produce/disconnect", Guarantee.AT_LEAST_ONCE),
    ("produce/disconnect", Guarantee.IDEMPOTENT),
    ("network/reset", Guarantee.IDEMPOTENT),
    ("frame/lost-request", Guarantee.IDEMPOTENT),
    ("frame/lost-answer", Guarantee.IDEMPOTENT),
)
#: Transactions, whose records are sent in parts, or are refused.
TRANSACTIONS = tuple(
    (f"transactions/{name}", Guarantee.TRANSACTIONAL) for name in ("calm", "disconnect", "expired-batch")
)
#: Groups whose partitions move, whose members are cut off, and whose positions are out of range.
GROUPS = tuple(
    (scenario, guarantee)
    for scenario in (
        "group/join",
        "group/kill-cooperative",
        "group/freeze",
        "group/leave-static",
        "group/heartbeat-answer-held",
        "group/heartbeat-unknown",
        "group/join-cooperative",
        "group/epoch-fenced",
        "group/late-poll",
        "group/late-poll-static",
        "group/listener-throws-revoked",
        "delivery/log-trimmed",
        "consume/disconnect",
        "consume/control-tail",
    )
    for guarantee in (Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE)
)
#: What only some perturbations need: commits of other kinds, slow rebalances, fatal errors, a log that loses its end.
RARE = tuple(
    (scenario, Guarantee.AT_LEAST_ONCE)
    for scenario in (
        "consume/disconnect-assigned",
        "consume/unclean-election",
        "delivery/damaged-batches",
        "delivery/paused",
        "group/coordinator-unknown",
        "group/auto-commit-join",
        "group/auto-commit-out-of-range",
        "group/commit-answer-late-async",
        "group/commit-stale-epoch-auto",
        "group/epoch-fatal",
        "group/join-new-protocol",
        "group/join-new-protocol-auto-commit",
        "group/late-poll-new-protocol",
        "group/listener-throws-revoked-new-protocol",
        "group/long-processing-new-protocol",
        "group/offsets-unstable",
        "group/slow-rebalance",
        "group/wakeup-while-joining",
    )
)


#: The work on elements.
LOADS = ("send", "transact")


@cache
def trial(scenario: str, guarantee: Guarantee, seed: int = 1) -> Evidence:
    """Return the evidence of the reference client in virtual time, with as many brokers as the scenario needs."""
    [ref] = selection.clients(["reference"], ())
    once = replace(registry.scenario(scenario), guarantees=(guarantee,), modes=BOTH_MODES)
    broker = f"scripted:4.3.1x{once.needs_brokers}"
    return SimulatedTrial(spec_of(once, assert_simulated(ref), seed, broker), RUN_ID).run()


def trials() -> list[Evidence]:
    return [trial(*situation) for situation in (*SITUATIONS, *TRANSACTIONS, *GROUPS)]


def lacks(evidence: Evidence) -> list[str]:
    """Return what is missing or contradictory in evidence.

    Any client's evidence has nothing, even a defective one's.
    """
    return [*_history(evidence), *_frames(evidence), *_log(evidence), *_across(evidence)]


def _history(evidence: Evidence) -> Iterator[str]:
    history = evidence.history
    of: defaultdict[object, list[int]] = defaultdict(list)
    for event in history:
        if not isinstance(event, HarnessEvent) or event.producer == HARNESS:
            of[event.producer].append(event.seq)
    if any(numbers != list(range(len(numbers))) for numbers in of.values()):
        yield "seq has gaps"
    if any(one.mono_ns > other.mono_ns for one, other in pairwise(history)):
        yield "events are not in order of time"
    invoked = Counter(
        n
        for event in history
        if isinstance(event, OpInvoke) and event.op in LOADS
        for n in range(event.first, event.first + event.count)
    )
    told = [event for event in history if isinstance(event, OpComplete)]
    completed = Counter(n for event in told for n in event.records)
    if any(count > 1 for count in (invoked + Counter()).values()) or any(
        count > 1 for count in completed.values()
    ):
        yield "a record was invoked or completed twice"
    if set(completed) - set(invoked):
        yield "a record was completed and never invoked"
    for event in told:
        rows = {len(event.outcome), len(event.error), len(event.invoke_ns), len(event.complete_ns)}
        if event.op in LOADS:
            rows |= {len(event.records), len(event.partition), len(event.offset)}
        if len(rows) != 1:
            yield "columns differ in length"
        if any(done > event.mono_ns for done in event.complete_ns):
            yield "a result was told before it was there"
        if any(done < asked for asked, done in zip(event.invoke_ns, event.complete_ns, strict=True)):
            yield "a result came before its call"


def _frames(evidence: Evidence) -> Iterator[str]:
    frames = evidence.frames
    if any(one.t_ns > other.t_ns for one, other in pairwise(frames)):
        yield "frames are not in order of time"
    rows = sorted((*frames, *evidence.blocked_frames), key=lambda frame: frame.t_ns)
    if {row.conn for row in rows} - {row.conn for row in rows if row.kind is FrameKind.OPEN}:
        yield "a connection was never opened"
    asked = Counter((row.conn, row.correlation_id) for row in rows if row.kind is FrameKind.REQUEST)
    if any(count > 1 for count in asked.values()):
        yield "a correlation id was used twice on a connection"
    untouched = [row for row in frames if row.kind is FrameKind.RESPONSE and row.fault is None]
    if any((row.conn, row.correlation_id) not in asked for row in untouched):
        yield "an answer has no request"


def _log(evidence: Evidence) -> Iterator[str]:
    offsets: dict[int, list[int]] = {}
    for record in evidence.log:
        offsets.setdefault(record.partition, []).append(record.offset)
        if record.base_offset > record.offset:
            yield "a record lies before its batch"
    if any(found != list(range(found[0], found[0] + len(found))) for found in offsets.values()):
        yield "offsets have gaps"


def _across(evidence: Evidence) -> Iterator[str]:
    phases = evidence.record.phases
    moments = [phases.load_ns, phases.heal_ns, phases.final_ns, phases.end_ns]
    if None in moments or moments != sorted(moments, key=lambda moment: moment or 0):
        yield "phases are not in order"
    sent: Counter[int] = Counter()
    for event in evidence.history:
        if isinstance(event, RecordsWritten | AsideWritten):
            sent.update(event.partitions)
        elif isinstance(event, TransactionEnded):
            sent.update([*event.partitions, *event.ends])
    for frame in evidence.frames:
        if frame.kind is FrameKind.REQUEST:
            for part in frame.produce:
                sent[part.partition] += part.records or 0
    is_ours = evidence.record.spec.workload.kind == "transactions"  # the coordinator writes the markers
    stored = Counter(record.partition for record in evidence.log if not (is_ours and record.control))
    if stored - sent:
        yield "the log has records that no request brought"
