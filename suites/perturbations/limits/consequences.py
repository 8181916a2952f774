"""Where a finding ends to follow from another one: what is in another partition, another batch, or came afterwards.

What is explained is told as well, but is no cause of its own; here it has to be one.
"""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.trial.patience import bound_ms
from suites.analysis.promises import EXACTLY_ONCE
from suites.perturbations.batches import never_sent, sent_once_more
from suites.perturbations.edits import with_record, with_results
from suites.perturbations.exchanges import Spot, settled
from suites.perturbations.limits.endings import after_pause
from suites.perturbations.limits.sequences import AFTER_APPEND, given_away
from suites.perturbations.pauses import paused
from suites.perturbations.perturbation import Perturbation, channels

BEYOND_MS = 2_000
#: Beyond it a trial would last too long.
LONGEST_MS = 150_000
Pair = tuple[Spot, Spot]


def _lost_beside(evidence: Evidence, place: Pair) -> Evidence:
    """The numbers of a batch are given to another one, and a batch of another partition is never sent."""
    lost = never_sent(evidence, [place[1]])
    return given_away(AFTER_APPEND, is_known=True)(lost, place[0])


def _doubled_beside(evidence: Evidence, place: Pair) -> Evidence:
    """A batch is stored once more under new numbers, and behind it one of another partition."""
    numbered, other = (settled(evidence)[spot] for spot in place)
    twice = sent_once_more(evidence, other.records, numbered)
    return sent_once_more(twice, numbered.records, settled(twice)[numbered.spot])


def _apart(evidence: Evidence) -> list[Pair]:
    """A numbered batch, and one of another partition that had its answer later."""
    numbered = [spot for spot, each in settled(evidence).items() if each.records[0].producer_id >= 0]
    found = []
    for spot in numbered:
        other = next((each for each in reversed(numbered) if each[0] != spot[0]), None)
        if other is not None:
            found.append((spot, other))
    return found


def _after_calm(evidence: Evidence) -> list[Spot]:
    """Batches of records that were handed over after a pause, where nothing was wrong in the whole trial."""
    limit_ms = bound_ms(evidence.record.spec.config, evidence.record.not_set)
    return list(after_pause(evidence)) if not evidence.faults and limit_ms < LONGEST_MS else []


def _after_stuck(evidence: Evidence, spot: Spot) -> Evidence:
    """The client leaves its records alone for too long and goes on; then a batch of later records has no result."""
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
        "gives the numbers of a batch away in one partition, and loses records of another one",
        ("lost",),
        _apart,
        _lost_beside,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "doubled-beside-a-renumbered-batch",
        channels("frames", "log", "history"),
        "stores a batch once more under new numbers, and one of another partition in its partition",
        ("duplicate",),
        _apart,
        _doubled_beside,
        guarantees=EXACTLY_ONCE,
    ),
    Perturbation(
        "no-result-after-stuck",
        channels("frames", "log", "history"),
        "leaves its records alone for too long, and has no result for records of afterwards",
        ("still-pending",),
        _after_calm,
        _after_stuck,
    ),
)
