"""Results and calls that end at the wrong time: after flush or close, beyond every limit, or never."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace as changed

from harness.model.contract import OpComplete, ShutdownComplete, Stats
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.perturbations.batches import delayed
from suites.perturbations.calls import TIMEOUT, acked_last, completed, too_late_ns
from suites.perturbations.edits import with_history, with_results
from suites.perturbations.exchanges import Spot, answer_to, calm, settled
from suites.perturbations.pauses import paused
from suites.perturbations.perturbation import channels

HISTORY = channels("history")


def _succeeded(evidence: Evidence, op: str) -> Sequence[str]:
    return (op,) if completed(evidence, op) else ()


def _results_after(op: str) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation in which the last batch is reported two seconds after a flush or close has returned.

    The flush or close had promised the results.
    """

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        done = completed(evidence, op)
        assert done is not None
        later = paused(evidence, done.mono_ns, 3_000 * NS_PER_MS, done.seq + 1)
        told_ns = done.mono_ns + 2_000 * NS_PER_MS
        return with_results(
            later, [changed(send, complete_ns=told_ns) for send in settled(evidence)[spot].sends]
        )

    return apply


def _never_returned(evidence: Evidence, op: str) -> Evidence:
    """A call does not return: the trial waits a minute for it, and kills a process that does not close."""
    done = completed(evidence, op)
    assert done is not None
    later = paused(evidence, done.mono_ns, 60_000 * NS_PER_MS, done.seq)
    ends = ShutdownComplete if op == "close" else ()
    kept = [
        event
        for event in later.history
        if not isinstance(event, ends) and not (isinstance(event, OpComplete) and event.id == done.id)
    ]
    return with_history(later, kept)


def _later_than_allowed(evidence: Evidence, spot: Spot) -> Evidence:
    """The client reports the last batch after every limit has passed, and the flush waits for it."""
    batch, by_ns = settled(evidence)[spot], too_late_ns(evidence)
    last_ns = max(send.complete_ns or 0 for send in batch.sends)
    at_ns = max(last_ns, answer_to(evidence, batch).t_ns) + 1
    return delayed(paused(evidence, at_ns, by_ns), batch.sends, by_ns - NS_PER_MS)


def _last_in_calm(evidence: Evidence) -> Sequence[Spot]:
    """Return the last batch, if it is calm, the client has the limit, and there was a heartbeat before its answer.

    A wait of that length without a heartbeat would be a stall of the process.
    """
    if TIMEOUT in evidence.record.not_set:
        return ()
    found = settled(evidence)
    return [
        spot
        for spot in acked_last(evidence)
        if spot in calm(evidence) and _beats_before(evidence, answer_to(evidence, found[spot]).t_ns)
    ]


def _beats_before(evidence: Evidence, at_ns: int) -> bool:
    return any(isinstance(event, Stats) and event.mono_ns < at_ns for event in evidence.history)


PERTURBATIONS = (
    Perturbation(
        "result-after-flush",
        HISTORY,
        "returns from flush two seconds before the results of the last batch",
        ("false-flush",),
        acked_last,
        _results_after("flush"),
    ),
    Perturbation(
        "result-after-close",
        HISTORY,
        "returns from close two seconds before the results of the last batch",
        ("false-flush",),
        lambda evidence: acked_last(evidence) if completed(evidence, "close") else (),
        _results_after("close"),
    ),
    Perturbation(
        "flush-never-returns",
        HISTORY,
        "does not return from flush",
        ("hung-call",),
        lambda evidence: _succeeded(evidence, "flush"),
        _never_returned,
    ),
    Perturbation(
        "close-never-returns",
        HISTORY,
        "does not return from close",
        ("hung-call",),
        lambda evidence: _succeeded(evidence, "close"),
        _never_returned,
    ),
    Perturbation(
        "late-result",
        channels("history", "frames", "log"),
        "reports the result of a batch after every limit has passed",
        ("delivery-timeout",),
        _last_in_calm,
        _later_than_allowed,
        Verdict.DIFFERS,
    ),
)
