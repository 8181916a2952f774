"""The limits of the excuses for an expired batch: expiry of another batch, and calls that block."""

from __future__ import annotations

from collections.abc import Callable

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from suites.perturbations.batches import never_sent
from suites.perturbations.edits import ended, with_results
from suites.perturbations.exchanges import Batch, Spot, settled
from suites.perturbations.limits.results.afterwards import (
    APART_MS,
    DELIVERY,
    EXPIRED,
    MAX_BLOCK,
    WIRE,
    Pair,
    limit,
    quick,
    setting_ms,
    successive,
    waited,
    with_fault,
)

#: What a client may need until it has recovered, besides five seconds for load on the machine.
RECOVERY = ("request.timeout.ms", "reconnect.backoff.max.ms")
RECOVERY_MORE_MS = 5_000


def _expire(evidence: Evidence, root: Batch, other: Batch, ends_ms: int) -> Evidence:
    """``root`` expires under a fault that lasts as long as it waits. ``other`` ends ``ends_ms`` after that."""
    limit_ns = setting_ms(evidence, DELIVERY) * NS_PER_MS
    called_ns = min(send.invoke_ns for send in root.sends)
    end_ns = called_ns + limit_ns
    later = with_fault(waited(evidence, setting_ms(evidence, DELIVERY) + 5_000), called_ns, end_ns)
    ends = [ended(send, end_ns, EXPIRED) for send in root.sends]
    ends += [ended(send, end_ns + ends_ms * NS_PER_MS, EXPIRED) for send in other.sends]
    return with_results(later, ends)


def _much_later(evidence: Evidence) -> list[Pair]:
    """Return pairs of a batch and one of another partition that was handed over much later."""
    batches = settled(evidence)
    found: list[Pair] = []
    for spot in quick()(evidence):
        since_ns = max(send.invoke_ns for send in batches[spot].sends) + APART_MS * NS_PER_MS
        others = (
            other
            for other in batches.values()
            if other.partition != spot[0] and min(send.invoke_ns for send in other.sends) > since_ns
        )
        if (other := next(others, None)) is not None:
            found.append((spot, other.spot))
    return found


def _expired(ends_ms: int) -> Callable[[Evidence, Pair], Evidence]:
    def apply(evidence: Evidence, place: Pair) -> Evidence:
        root, other = (settled(evidence)[spot] for spot in place)
        return _expire(evidence, root, other, ends_ms)

    return apply


def _failed(more_ms: int) -> Callable[[Evidence, Spot], Evidence]:
    """The calls of a batch fail ``more_ms`` after they have blocked for max.block.ms."""

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        after_ms = setting_ms(evidence, MAX_BLOCK) + more_ms
        sends = settled(evidence)[spot].sends
        later = waited(never_sent(evidence, [spot]), after_ms + APART_MS)
        ends = [ended(send, send.invoke_ns + after_ms * NS_PER_MS, EXPIRED, Outcome.FAIL) for send in sends]
        return with_results(later, ends)

    return apply


def _can_block(evidence: Evidence, _: Batch) -> bool:
    return APART_MS < setting_ms(evidence, MAX_BLOCK) < setting_ms(evidence, DELIVERY)


def _blocks_longer_than_recovery(evidence: Evidence, batch: Batch) -> bool:
    recovery_ms = sum(setting_ms(evidence, name) for name in RECOVERY) + RECOVERY_MORE_MS
    called_ns = min(send.invoke_ns for send in batch.sends)
    is_free = all(row.effective_ns is None or row.effective_ns[1] < called_ns for row in evidence.faults)
    return is_free and recovery_ms < setting_ms(evidence, MAX_BLOCK) < setting_ms(evidence, DELIVERY)


PERTURBATIONS = (
    limit(
        "gave-up-before-the-batch-expired",
        "gives up a batch 1.3 seconds before the previous one expires",
        _expired(-APART_MS),
        successive,
        changes=("history", "faults"),
    ),
    limit(
        "gave-up-as-another-partition-expired",
        "gives up a batch before its timeout, because one of another partition expires",
        _expired(0),
        _much_later,
        changes=("history", "faults"),
    ),
    limit(
        "gave-up-before-max-block",
        "lets a call fail 1.3 seconds before max.block.ms",
        _failed(-APART_MS),
        quick(_can_block),
        changes=WIRE,
    ),
    limit(
        "refused-call-in-peace-after-the-first-request",
        "lets a call fail after max.block.ms, although its client has been talking to the brokers in peace",
        _failed(0),
        quick(_blocks_longer_than_recovery),
        changes=WIRE,
    ),
)
