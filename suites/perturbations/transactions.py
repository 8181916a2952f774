"""Transactions that readers see in part, twice, out of order, or although they were aborted, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace as changed

from harness.model.contract import OpComplete
from harness.model.evidence import Evidence
from harness.model.exchanges import Exchange
from harness.model.rows import LogRecord
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from harness.workloads.transactions.commands import ABORT, COMMIT
from harness.workloads.transactions.outcomes import (
    ABORT_MARKER,
    COMMIT_MARKER,
    Fate,
    Transaction,
    copies,
    transactions,
)
from suites.analysis.promises import TRANSACTIONAL
from suites.analysis.transacting import commits
from suites.analysis.way import way
from suites.checks.transactions.end_overtakes_records import is_given_up, produces
from suites.checks.transactions.never_commits_again import IN_A_ROW, late_commits
from suites.perturbations.batches import never_sent, sent_once_more, spots
from suites.perturbations.exchanges import Spot, settled
from suites.perturbations.membership.exchanges import with_edits
from suites.perturbations.perturbation import channels

LOG = channels("log")
OF_TRANSACTIONS = frozenset({"transactions"})


def _with_rows(evidence: Evidence, edits: dict[int, LogRecord]) -> Evidence:
    """Return the evidence with other rows of the log, by their place in it."""
    return replace(evidence, log=tuple([edits.get(at, row) for at, row in enumerate(evidence.log)]))


def _markers(evidence: Evidence, transaction: Transaction) -> list[int]:
    """Return the places in the log of the markers that end a transaction, one in each of its partitions."""
    rows = {
        (row.topic, row.partition, row.producer_id): row.offset
        for fate in (Fate.VISIBLE, Fate.ABORTED)
        for n in transaction.numbers
        for row in copies(evidence)[fate].get(n, ())
    }
    found = {}
    for at, row in enumerate(evidence.log):
        key = row.topic, row.partition, row.producer_id
        if row.control and key in rows and key not in found and row.offset > rows[key]:
            found[key] = at
    return list(found.values())


def _ended(evidence: Evidence, end: str, least: int = 1) -> Sequence[int]:
    """Return the transactions that were reported to have ended so, in at least as many partitions."""
    return [
        at
        for at, each in enumerate(transactions(evidence))
        if each.ended == end and len(_markers(evidence, each)) >= least
    ]


def _marked(evidence: Evidence, place: int, key: str, most: int | None = None) -> Evidence:
    """The transaction has other markers, in ``most`` of its partitions or in all of them."""
    places = _markers(evidence, transactions(evidence)[place])[:most]
    return _with_rows(evidence, {at: changed(evidence.log[at], key=key) for at in places})


def _lost(evidence: Evidence, spot: Spot) -> Evidence:
    return never_sent(evidence, [spot])


def _again(evidence: Evidence, spot: Spot) -> Evidence:
    batch = settled(evidence)[spot]
    return sent_once_more(evidence, batch.records, batch)


def _is_committed(evidence: Evidence, spot: Spot) -> bool:
    """Return whether the batch there is visible, and of a transaction that was to be committed."""
    return any(
        (row.partition, row.base_offset) == spot
        for each in transactions(evidence)
        if each.asked == each.ended == COMMIT
        for n in each.numbers
        for row in copies(evidence)[Fate.VISIBLE].get(n, ())
    )


def _committed_spots(evidence: Evidence) -> Sequence[Spot]:
    return [spot for spot in spots()(evidence) if _is_committed(evidence, spot)]


def _neighbours(evidence: Evidence) -> Sequence[int]:
    """Return the places of visible records that another visible record of their batch follows."""
    visible = {id(row) for rows in copies(evidence)[Fate.VISIBLE].values() for row in rows}
    return [
        at
        for at, (row, after) in enumerate(zip(evidence.log, evidence.log[1:], strict=False))
        if id(row) in visible
        and id(after) in visible
        and (row.topic, row.partition, row.base_offset) == (after.topic, after.partition, after.base_offset)
    ]


def _swapped(evidence: Evidence, place: int) -> Evidence:
    row, after = evidence.log[place : place + 2]
    return _with_rows(
        evidence,
        {
            place: changed(row, key=after.key, value=after.value),
            place + 1: changed(after, key=row.key, value=row.value),
        },
    )


class Ending(NamedTuple):
    """A commit's EndTxn, and the last Produce request that was answered before it on another connection."""

    end: Exchange
    produce: Exchange


def _endings(evidence: Evidence) -> Sequence[Ending]:
    found = []
    for span, end in commits(evidence):
        before = [
            each
            for each in produces(evidence)
            if each.answer is not None
            and span.begin_ns < each.answer.t_ns < end.request.arrived_ns
            and each.request.conn != end.request.conn
        ]
        if before:
            found.append(Ending(end, before[-1]))
    return found


def _answer_is_last(evidence: Evidence, each: Ending) -> bool:
    """Return whether no other answer passed the connection between this one and EndTxn."""
    answer, at_ns = each.produce.answer, each.end.request.arrived_ns
    assert answer is not None
    is_alone = not any(
        frame.conn == answer.conn and answer.t_ns < frame.t_ns <= at_ns + 1 for frame in evidence.frames
    )
    return is_alone and not is_given_up(evidence, each.end, each.produce)


def _unanswered_places(evidence: Evidence) -> Sequence[int]:
    return [at for at, each in enumerate(_endings(evidence)) if _answer_is_last(evidence, each)]


def _unanswered(evidence: Evidence, place: int) -> Evidence:
    """The answer passes the witness when EndTxn has arrived there."""
    end, produce = _endings(evidence)[place]
    assert produce.answer is not None
    later = changed(produce.answer, t_ns=end.request.arrived_ns + 1, received_ns=None)
    return with_edits(evidence, {id(produce.answer): later})


def _overtaken_places(evidence: Evidence) -> Sequence[int]:
    found = []
    for at, (end, produce) in enumerate(_endings(evidence)):
        sent_ns = produce.request.arrived_ns
        is_direct = way(evidence).sent_ns(produce.request.broker, sent_ns) == sent_ns
        is_alone = not any(
            frame.conn == end.request.conn and sent_ns - 1 <= frame.t_ns < end.request.t_ns
            for frame in evidence.frames
        )
        if (
            is_direct
            and is_alone
            and any(span.begin_ns < sent_ns - 1 for span, each in commits(evidence) if each is end)
        ):
            found.append(at)
    return found


def _overtaken(evidence: Evidence, place: int) -> Evidence:
    """EndTxn arrives before the Produce request."""
    end, produce = _endings(evidence)[place]
    sooner = changed(end.request, t_ns=produce.request.arrived_ns - 1, received_ns=None)
    return with_edits(evidence, {id(end.request): sooner})


def _no_commits(evidence: Evidence, _: str) -> Evidence:
    """The client cannot tell whether any of the late transactions is committed."""
    hidden = {n for each in late_commits(evidence) for n in each.numbers}
    told = [
        changed(event, outcome=["info"] * len(event.outcome))
        if isinstance(event, OpComplete) and not hidden.isdisjoint(event.records)
        else event
        for event in evidence.history
    ]
    return replace(evidence, history=tuple(told))


def _commits_late(evidence: Evidence) -> Sequence[str]:
    """Return one place if the trial has twice as many late commits as count."""
    return ("the whole trial",) if len(late_commits(evidence)) >= 2 * IN_A_ROW else ()


_kind = partial(Perturbation, guarantees=TRANSACTIONAL, verdict=Verdict.FAIL, workloads=OF_TRANSACTIONS)

PERTURBATIONS: tuple[Perturbation, ...] = (
    _kind(
        "commit-aborted-in-the-log",
        LOG,
        "reports a transaction as committed that the log aborts",
        ("commit-aborted",),
        lambda evidence: _ended(evidence, COMMIT),
        lambda evidence, place: _marked(evidence, place, ABORT_MARKER),
    ),
    _kind(
        "commit-without-a-batch",
        channels("frames", "log", "history"),
        "reports a transaction as committed and has never sent one of its batches",
        ("commit-lost",),
        _committed_spots,
        _lost,
    ),
    _kind(
        "abort-committed-in-the-log",
        LOG,
        "reports a transaction as aborted that the log commits",
        ("abort-undone",),
        lambda evidence: _ended(evidence, ABORT),
        lambda evidence, place: _marked(evidence, place, COMMIT_MARKER),
    ),
    _kind(
        "commit-in-one-partition-aborted",
        LOG,
        "commits a transaction in some of its partitions only",
        ("torn-transaction",),
        lambda evidence: _ended(evidence, COMMIT, 2),
        lambda evidence, place: _marked(evidence, place, ABORT_MARKER, 1),
    ),
    _kind(
        "batch-committed-twice",
        channels("frames", "log", "history"),
        "has a batch of a transaction stored twice",
        ("visible-twice",),
        _committed_spots,
        _again,
    ),
    _kind(
        "commit-before-an-answer",
        channels("frames"),
        "commits a transaction before the answer to a Produce request",
        ("end-overtakes-records",),
        _unanswered_places,
        _unanswered,
    ),
    _kind(
        "commit-before-a-batch",
        channels("frames"),
        "commits a transaction before it sends the last of its Produce requests",
        ("produced-after-end",),
        _overtaken_places,
        _overtaken,
    ),
    _kind(
        "no-commit-to-the-end",
        channels("history"),
        "commits nothing more once the last fault has acted",
        ("never-commits-again",),
        _commits_late,
        _no_commits,
    ),
    _kind(
        "committed-out-of-order",
        LOG,
        "stores two records of a transaction in the wrong order",
        ("visible-out-of-order",),
        _neighbours,
        _swapped,
    ),
)
