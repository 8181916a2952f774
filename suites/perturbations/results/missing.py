"""Results that are never reported: for a batch, for one record, or for all records after some time."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.contract import CRASHED, AnyEvent, Fatal, OpComplete
from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import EXACTLY_ONCE
from suites.perturbations.batches import spots
from suites.perturbations.calls import acked_last, completed, flush_call, mostly_acked, too_late_ns
from suites.perturbations.edits import (
    inserted_id,
    with_frames_added,
    with_history,
    with_record,
    with_results,
)
from suites.perturbations.exchanges import Spot, answer_to, request_of, settled
from suites.perturbations.pauses import idle_ns, paused, waiting_at
from suites.perturbations.perturbation import channels

HISTORY = channels("history")
REQUEST_TIMEOUT = "request.timeout.ms"
PENDING = ("still-pending", "stuck")
#: More than ``FEW_ROUNDS``.
ROUNDS = 12


def _no_result(evidence: Evidence, spot: Spot) -> Evidence:
    return with_results(evidence, [changed(send, complete_ns=None) for send in settled(evidence)[spot].sends])


def _no_result_for_one(evidence: Evidence, spot: Spot) -> Evidence:
    return with_results(evidence, [changed(settled(evidence)[spot].sends[0], complete_ns=None)])


def _crashed(evidence: Evidence, spot: Spot) -> Evidence:
    """An error of the library ends the process while the last batch waits. The history has that end and no result."""
    batch = settled(evidence)[spot]
    at_ns = max(send.invoke_ns for send in batch.sends)
    kept: list[AnyEvent] = [event for event in evidence.history if event.mono_ns <= at_ns]
    last = kept[-1]
    crash = Fatal(
        seq=0,
        mono_ns=at_ns + NS_PER_MS,
        wall_ns=last.wall_ns + at_ns + NS_PER_MS - last.mono_ns,
        error=CRASHED,
        message="Uncaught exception in the sender's thread",
    )
    return with_history(
        with_results(evidence, [changed(each, complete_ns=None) for each in batch.sends]), [*kept, crash]
    )


def _idle_in_flush(evidence: Evidence) -> Sequence[int]:
    """Return a time during the flush without a request in flight: only the client can make progress then."""
    flush, done = flush_call(evidence), completed(evidence, "flush")
    if flush is None or done is None or not mostly_acked(evidence):
        return ()
    at_ns = idle_ns(evidence, flush.mono_ns, done.mono_ns)
    return () if at_ns is None else (at_ns,)


def _awaited_in_flush(evidence: Evidence) -> Sequence[int]:
    """Return the beginning of the flush, if a request is in flight then and the client has a request timeout."""
    flush = flush_call(evidence)
    if flush is None or not _flushed(evidence) or REQUEST_TIMEOUT in evidence.record.not_set:
        return ()
    return (flush.mono_ns,) if waiting_at(evidence, flush.mono_ns) else ()


def _all_pending(evidence: Evidence, at_ns: int) -> Evidence:
    """The last quarter of the records has no result: flush and close fail, and the trial waits a minute."""
    flush = flush_call(evidence)
    assert flush is not None
    quarter = len(evidence.operations) * 3 // 4
    pending = [changed(send, complete_ns=None) for n, send in evidence.operations.items() if n >= quarter]
    wait_ns = too_late_ns(evidence) + 30_000 * NS_PER_MS
    waited = paused(evidence, at_ns, wait_ns, flush.seq + 1)
    phases = waited.record.phases
    final_ns = max(phases.final_ns or 0, at_ns + wait_ns)
    waited = with_record(waited, phases=changed(phases, final_ns=final_ns))
    history = [
        changed(event, outcome=[Outcome.INFO.value], error=["TimeoutException"])
        if isinstance(event, OpComplete) and event.op in ("flush", "close")
        else event
        for event in waited.history
    ]
    return with_results(
        with_history(waited, history),
        [changed(evidence.operations[send.n], complete_ns=None) for send in pending],
    )


def _in_circles(evidence: Evidence, at_ns: int) -> Evidence:
    """The same, while the client sends one known batch a dozen times, which is answered as written."""
    waited = _all_pending(evidence, at_ns)
    asks, tells = _last_exchange(evidence, at_ns)
    first, every_ns = inserted_id(evidence), too_late_ns(evidence) // ROUNDS
    own = {"received_ns": None, "fault": None, "disposition": None}
    rows: list[Frame] = []
    for n in range(ROUNDS):
        moment_ns = at_ns + 1 + n * every_ns
        rows.append(changed(asks, t_ns=moment_ns, correlation_id=first + n, **own))
        rows.append(changed(tells, t_ns=moment_ns + NS_PER_MS, correlation_id=first + n, **own))
    return with_frames_added(waited, rows)


def _last_exchange(evidence: Evidence, at_ns: int) -> tuple[Frame, Frame]:
    """Return the request of the settled batch that was answered last before this time, and its answer."""
    batches = (batch for batch in settled(evidence).values() if answer_to(evidence, batch).t_ns < at_ns)
    last = max(batches, key=lambda batch: answer_to(evidence, batch).t_ns)
    return request_of(evidence, last), answer_to(evidence, last)


def _idle_and_numbered(evidence: Evidence) -> Sequence[int]:
    """Return the same time, if the broker recognizes repeated batches and the last connection stays open."""
    moments = _idle_in_flush(evidence)
    if not moments or not settled(evidence):
        return ()
    conn = _last_exchange(evidence, moments[0])[0].conn
    ended = (row.t_ns for row in evidence.frames if row.conn == conn and row.kind is FrameKind.CLOSE)
    return moments if all(t_ns > moments[0] for t_ns in ended) else ()


def _flushed(evidence: Evidence) -> bool:
    return mostly_acked(evidence) and completed(evidence, "flush") is not None


PERTURBATIONS = (
    Perturbation(
        "no-result",
        HISTORY,
        "never reports the result of a batch, although its flush succeeds",
        PENDING,
        spots(),
        _no_result,
    ),
    Perturbation(
        "no-result-for-one",
        HISTORY,
        "never reports the result of one record of a batch",
        PENDING,
        spots(),
        _no_result_for_one,
    ),
    Perturbation(
        "stuck",
        HISTORY,
        "never reports the results of the last quarter of its records, and neither flush nor close succeeds",
        PENDING,
        _idle_in_flush,
        _all_pending,
    ),
    Perturbation(
        "stuck-on-an-answer",
        HISTORY,
        "waits for an answer long after its request.timeout.ms, and never reports the results of its records",
        PENDING,
        _awaited_in_flush,
        _all_pending,
    ),
    Perturbation(
        "livelock",
        channels("history", "frames"),
        "sends one batch a dozen times, which is answered as written, while no record gets a result",
        ("livelock",),
        _idle_and_numbered,
        _in_circles,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "crash",
        HISTORY,
        "ends its own process while records wait for their results",
        ("crashed",),
        acked_last,
        _crashed,
    ),
)
