"""Batches that members were sent with a wrong checksum, and what errors their applications got. Pure views.

A fault damages a batch in an answer to Fetch (``damaged_batch``). The broker's log has it as it was written, so the
client can fetch it again. A client that does not, and goes past it, must report an error: the application decides then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.consumer_contract import ConsumerError
from harness.model.contract import Fatal
from harness.model.evidence import Evidence, view
from harness.model.exchanges import FOR_EVER
from harness.model.units import NS_PER_MS
from harness.workloads.consume import accounting
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.excuses import grants

FETCH: Final = "Fetch"
CRCS: Final = "check.crcs"
#: Calls whose errors say nothing about what was fetched.
_OTHER_CALLS: Final = ("commit", "seek", "close")
#: An adapter may report an error after the turn whose records came with it.
TURN_NS: Final = 1_000 * NS_PER_MS


class Damage(NamedTuple):
    """A batch with the offsets from ``begin`` to before ``end`` whose checksum was wrong in an answer that passed."""

    fetch: Asked
    partition: int
    begin: int
    end: int
    passed_ns: int

    @property
    def process(self) -> str:
        """The process that it was sent to."""
        return self.fetch.process

    def has(self, partition: int, offset: int) -> bool:
        """Return whether a place belongs to the batch."""
        return partition == self.partition and self.begin <= offset < self.end


@view
def damages(evidence: Evidence) -> list[Damage]:
    """Return the damaged batches of the client under test."""
    return [
        Damage(each, part.partition, *part.damaged, each.answer.t_ns)
        for requests in of_group(evidence, FETCH).values()
        for each in requests
        if each.answer is not None
        for part in each.answer.offsets
        if part.damaged is not None and part.topic == evidence.record.topic
    ]


def compares(evidence: Evidence) -> bool:
    """Return whether the client was configured to compare checksums, and accepted it."""
    spec, not_set = evidence.record.spec, evidence.record.not_set
    return CRCS not in not_set and spec.config.get(CRCS, True) is not False


def told_ns(evidence: Evidence, damage: Damage) -> Iterator[int]:
    """Yield when the application got an error that may be about a damaged batch, after it was sent."""
    for event in evidence.history:
        is_error = isinstance(event, Fatal) or (
            isinstance(event, ConsumerError) and event.call not in _OTHER_CALLS
        )
        if is_error and event.producer == damage.process and event.mono_ns >= damage.passed_ns:
            yield event.mono_ns


def behind_ns(evidence: Evidence, damage: Damage) -> int:
    """Return when the process had first worked on a record behind a damaged batch, or ``FOR_EVER`` if it never did."""
    return min(
        (
            got.processed_ns
            for got in accounting.deliveries(evidence)
            if (got.member, got.partition) == (damage.process, damage.partition)
            and got.offset >= damage.end
            and got.polled_ns >= damage.passed_ns
        ),
        default=FOR_EVER,
    )


@grants("told-of-damage")
def is_told(evidence: Evidence, place: tuple[int, int]) -> bool:
    """Return whether a record belongs to a damaged batch of which an application was told before it went past it."""
    return any(
        at_ns <= until_ns
        for damage in damages(evidence)
        if damage.has(*place)
        for until_ns in (behind_ns(evidence, damage) + TURN_NS,)
        for at_ns in told_ns(evidence, damage)
    )
