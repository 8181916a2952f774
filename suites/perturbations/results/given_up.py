"""Records that a client gives up too early: before any limit has passed, or although they were acknowledged."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.evidence import Evidence, Operation
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation, Place
from suites.analysis.promises import DURABLE
from suites.perturbations.calls import TIMEOUT, mostly_acked
from suites.perturbations.edits import ended, with_record, with_results
from suites.perturbations.exchanges import Spot, settled
from suites.perturbations.perturbation import channels, once

HISTORY = channels("history")
RETRIES = "retries"
#: When a client gives up that does not try to deliver.
SOON_NS = 5 * NS_PER_MS


def _given_up(sends: Sequence[Operation]) -> list[Operation]:
    return [ended(send, send.invoke_ns + SOON_NS, "TimeoutException") for send in sends]


def _gave_up(evidence: Evidence, spot: Spot) -> Evidence:
    return with_results(evidence, _given_up(settled(evidence)[spot].sends))


def _gave_up_after_ack(evidence: Evidence, spot: Spot) -> Evidence:
    """The records of a batch are reported as unknown at the time at which they were acknowledged."""
    unknown = [
        ended(send, send.complete_ns or 0, "NetworkException") for send in settled(evidence)[spot].sends
    ]
    return with_results(evidence, unknown)


def _gave_all_up(evidence: Evidence, _: str) -> Evidence:
    keep = min(evidence.acknowledged)
    return with_results(evidence, _given_up([send for n, send in evidence.operations.items() if n != keep]))


def _without_retries(evidence: Evidence) -> Evidence:
    not_set = evidence.record.not_set | {RETRIES: "there is no such setting"}
    return with_record(evidence, not_set=not_set)


def _gave_all_up_unlimited(evidence: Evidence, place: str) -> Evidence:
    """As before, by a client whose retries cannot be set."""
    return _without_retries(_gave_all_up(evidence, place))


def _half_given_up(evidence: Evidence, _: str) -> Evidence:
    """Every second record is given up, by a client whose retries cannot be set."""
    half = [send for n, send in evidence.operations.items() if n % 2]
    return _without_retries(with_results(evidence, _given_up(half)))


def _settable(evidence: Evidence) -> bool:
    return TIMEOUT not in evidence.record.not_set and RETRIES not in evidence.record.not_set


def _can_give_up(evidence: Evidence) -> list[Place]:
    return list(settled(evidence)) if _settable(evidence) else []


PERTURBATIONS = (
    Perturbation(
        "gave-up-at-once",
        HISTORY,
        "reports records as unknown 5 ms after they were handed over",
        ("gave-up",),
        _can_give_up,
        _gave_up,
        guarantees=DURABLE,
    ),
    Perturbation(
        "gave-up-answered-batch",
        HISTORY,
        "reports records as unknown whose acknowledgement it has read",
        ("gave-up",),
        _can_give_up,
        _gave_up_after_ack,
        guarantees=DURABLE,
    ),
    Perturbation(
        "gave-all-up",
        HISTORY,
        "acknowledges one record and gives up all others after 5 ms",
        ("gave-up",),
        once(lambda evidence: mostly_acked(evidence) and _settable(evidence)),
        _gave_all_up,
        guarantees=DURABLE,
    ),
    Perturbation(
        "gave-all-up-without-retries",
        channels("history", "record"),
        "has no setting for retries, and gives up all records but one after 5 ms",
        ("gave-up-early", "gave-up"),
        once(mostly_acked),
        _gave_all_up_unlimited,
        Verdict.DIFFERS,
        DURABLE,
    ),
    Perturbation(
        "gave-half-up-without-retries",
        channels("history", "record"),
        "has no setting for retries, and gives up every second record after 5 ms",
        ("gave-up-early", "gave-up"),
        once(mostly_acked),
        _half_given_up,
        Verdict.DIFFERS,
        DURABLE,
    ),
)
