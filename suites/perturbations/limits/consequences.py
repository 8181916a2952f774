"""The limits of the consequences of a finding: in another partition, in another batch, or later.

An explained finding is reported too, but is not a cause of its own. Here it must be one.
"""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.plugins.perturbation import Perturbation
from harness.trial.patience import bound_ms
from suites.analysis.promises import EXACTLY_ONCE
from suites.perturbations.batches import never_sent, sent_once_more
from suites.perturbations.edits import with_record, with_results
from suites.perturbations.exchanges import Spot, settled
from suites.perturbations.limits.endings import after_pause
from suites.perturbations.limits.sequences import AFTER_APPEND, given_away
from suites.perturbations.pauses import paused
from suites.perturbations.perturbation import channels

BEYOND_MS = 2_000
#: A longer wait would make the trial too long.
LONGEST_MS = 150_000
Pair = tuple[Spot, Spot]


def _lost_beside(evidence: Evidence, place: Pair) -> Evidence:
    """Give the numbers of a batch to another one, and never send a batch of another partition."""
    lost = never_sent(evidence, [place[1]])
    return given_away(AFTER_APPEND, is_known=True)(lost, place[0])


def _doubled_beside(evidence: Evidence, place: Pair) -> Evidence:
    """Store a batch once more under new numbers, and after it one of another partition."""
    numbered, other = (settled(evidence)[spot] for spot in place)
    twice = sent_once_more(evidence, other.records, numbered)
    return sent_once_more(twice, numbered.records, settled(twice)[numbered.spot])


def _apart(evidence: Evidence) -> list[Pair]:
    """Return each numbered batch with one of another partition that was answered later."""
    numbered = [spot for spot, each in settled(evidence).items() if each.records[0].producer_id >= 0]
    found = []
    for spot in numbered:
        other = next((each for each in reversed(numbered) if each[0] != spot[0]), None)
        if other is not None:
            found.append((spot, other))
    return found


def _after_calm(evidence: Evidence) -> list[Spot]:
    """Return batches of records that were handed over after a pause, if the whole trial had no fault."""
    limit_ms = bound_ms(evidence.record.spec.config, evidence.record.not_set)
    return list(after_pause(evidence)) if not evidence.faults and limit_ms < LONGEST_MS else []


def _after_stuck(evidence: Evidence, spot: Spot) -> Evidence:
    """The client ignores its records for too long and then continues. Then a batch of later records has no result."""
    at_ns = after_pause(evidence)[spot]
    limit_ms = bound_ms(evidence.record.spec.config, evidence.record.not_set)
    waited = paused(evidence, at_ns, (limit_ms + BEYOND_MS) * NS_PER_MS)
    healed = with_record(waited, phases=changed(waited.record.phases, heal_ns=at_ns))
    pending = [changed(send, complete_ns=None) for send in settled(healed)[spot].sends]
    return with_results(healed, pending)


PERTURBATIONS = (
    Perturbation(
        "lost-beside-a-reuse",
        channels("frames", "log", "history"),
        "gives the numbers of a batch to another one in one partition, and loses records of another",
        ("lost",),
        _apart,
        _lost_beside,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "doubled-beside-a-renumbered-batch",
        channels("frames", "log", "history"),
        "stores a batch once more under new numbers, and stores one of another partition in its partition",
        ("duplicate",),
        _apart,
        _doubled_beside,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "no-result-after-stuck",
        channels("frames", "log", "history"),
        "ignores its records for too long, and has no result for later records",
        ("still-pending",),
        _after_calm,
        _after_stuck,
    ),
)
