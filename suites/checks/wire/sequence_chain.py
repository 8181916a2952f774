"""# sequence-chain

## What it does

Follows the sequence numbers of batches on the wire. In each partition, for each producer id and epoch, the
first batch begins at 0 and each later batch begins where the previous one ends. It also looks for records
that are in the log twice under different sequence numbers of one producer id and epoch.

## Why it is bad

A broker refuses a batch that skips numbers (OUT_OF_ORDER_SEQUENCE_NUMBER), and all batches after it. A batch
that is sent again with other numbers is a new batch to the broker, which stores it once more.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden.
- **at-least-once, at-most-once**: not judged; batches have no sequences.

## What it needs

The witness's frames, the log and the history. The order in which batches arrived at the witness does not
matter. A batch may be given up before it reaches the witness. Numbers that no batch carried are therefore
missing only if there are more of them than records of the partition that failed or never had a result,
counting records handed over before the batch with the later numbers arrived at the witness. A batch that a
broker refused as out of order skipped numbers too, if a later batch begins with these numbers and reaches
into it. A frame that the witness could not read, on the way to a broker of the partition, may have carried
them: inconclusive. If a topic was created again, its old batches are not compared with the new ones.

If all records of a trial that are in the log twice got new numbers, `duplicate` is reported as a consequence
of `sequence-changed`, not as a cause of its own.

## References

PRD-IDM-02, PRD-IDM-03 (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, Operation, view
from harness.model.exchanges import FOR_EVER
from harness.model.rows import Finding, LogRecord
from harness.model.verdicts import Level, Outcome
from harness.plugins.check import Check, Requirement
from harness.workloads.produce import accounting
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable, of_copies
from suites.analysis.promises import EXACTLY_ONCE
from suites.analysis.renumbered import renumbered
from suites.analysis.unread import unread_about
from suites.checks.wire.keyed import UNKNOWN, partitions_of_keys
from suites.checks.wire.sent import OUT_OF_PLACE, Chain, Variant, variants

GAP = Anomaly("sequence-gap", "{count:sequence number} missing, in {chains:chain}")
CHANGED = Anomaly("sequence-changed", "{count:record} stored again under another sequence")


class _Gap(NamedTuple):
    """The missing numbers, from ``start`` up to the base sequence of ``behind``."""

    start: int
    behind: Variant

    @property
    def numbers(self) -> int:
        return self.behind.base - self.start


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind: missing numbers, and records that got new numbers."""
    found = []
    gaps: list[_Gap] = []
    for chain, batches in variants(evidence).items():
        gaps += _jumps(batches)
        missing = list(_gaps(batches))
        if missing and not _are_given_up(evidence, chain, missing):
            gaps += missing
    if gaps:
        chains = len({gap.behind.chain for gap in gaps})
        finding = GAP.found(
            sum(gap.numbers for gap in gaps), map(_sample, gaps), requirement="PRD-IDM-02", chains=chains
        )
        doubt_if_unreadable(finding, _unread_numbers(evidence, gaps))
        found.append(finding)
    if changed := renumbered(evidence):
        samples = (of_copies(n, copies) for n, copies in sorted(changed.items()))
        finding = CHANGED.found(len(changed), samples, requirement="PRD-IDM-03")
        found.append(replace(finding, explains=_explained(evidence, changed)))
    return found


@grants("follows-from-new-numbers")
def _explained(evidence: Evidence, changed: Mapping[int, list[LogRecord]]) -> tuple[str, ...]:
    """Return ``duplicate`` if every copy of each duplicate is another batch of one chain."""
    if not accounting.duplicates(evidence).keys() <= changed.keys():
        return ()
    for copies in changed.values():
        chains = {(copy.partition, copy.producer_id, copy.producer_epoch) for copy in copies}
        if len(chains) > 1 or len({copy.base_offset for copy in copies}) < len(copies):
            return ()
    return ("duplicate",)


def _gaps(batches: list[Variant]) -> Iterator[_Gap]:
    """Yield the gaps in the order of their numbers, from 0."""
    end = 0
    for batch in sorted(batches, key=lambda batch: batch.base):
        if batch.base > end:
            yield _Gap(end, batch)
        end = max(end, batch.end)


def _jumps(batches: list[Variant]) -> Iterator[_Gap]:
    """Yield gaps before a batch that was refused as out of order, whose numbers later batches then used.

    The later batch begins in the gap and reaches into the refused one, so no batch in transit had the skipped
    numbers.
    """
    end = 0
    for at, batch in enumerate(batches):
        is_refused = all(each.error_code in OUT_OF_PLACE for each in batch.sent)
        later = batches[at + 1 :]
        if is_refused and any(end <= other.base < batch.base < other.end for other in later):
            yield _Gap(end, batch)
        end = max(end, batch.end)


@grants("given-up-with-its-numbers")
def _are_given_up(evidence: Evidence, chain: Chain, missing: list[_Gap]) -> bool:
    """True if there are as many unsuccessful records that can have had these numbers.

    They are of the chain's partition, or of an unknown one, and were handed over before the batch with the
    later numbers.
    """
    until_ns = max(gap.behind.first_ns for gap in missing)
    given_up = sum(
        send.invoke_ns <= until_ns
        for partition in (chain.partition, UNKNOWN)
        for send in _given_up(evidence).get(partition, ())
    )
    return given_up >= sum(gap.numbers for gap in missing)


@view
def _given_up(evidence: Evidence) -> Mapping[int, list[Operation]]:
    """Map each partition to its unsuccessful records. The key -1 holds those of unknown partition."""
    by_key = partitions_of_keys(evidence)
    found: dict[int, list[Operation]] = {}
    for n, send in evidence.operations.items():
        if send.outcome is not Outcome.OK:
            found.setdefault(send.partition if send.partition >= 0 else by_key(n), []).append(send)
    return found


@grants("unread-numbers")
def _unread_numbers(evidence: Evidence, gaps: list[_Gap]) -> int:
    """Return how many unread items of these partitions may have contained the missing numbers."""
    return max(unread_about(evidence, gap.behind.chain.partition, 0, FOR_EVER) for gap in gaps)


def _sample(gap: _Gap) -> Sample:
    chain: Chain = gap.behind.chain
    return {
        "partition": chain.partition,
        "producer_id": chain.producer_id,
        "producer_epoch": chain.epoch,
        "expected_sequence": gap.start,
        "base_sequence": gap.behind.base,
        "at_ns": gap.behind.first_ns,
    }


def _batches(evidence: Evidence) -> int:
    return sum(map(len, variants(evidence).values()))


def _retries(evidence: Evidence) -> int:
    """Return how many attempts repeat the same batch."""
    return sum(len(batch.sent) - 1 for chain in variants(evidence).values() for batch in chain)


CHECK = Check(
    name="sequence-chain",
    summary="Sequence numbers that do not follow each other, or that a retry changed.",
    requirements=(
        Requirement("PRD-IDM-02", Level.MUST, arises=_batches),
        Requirement("PRD-IDM-03", Level.MUST, arises=_retries),
    ),
    guarantees=EXACTLY_ONCE,
    requires=frozenset({"frames", "log", "history"}),
    killed_mutant="retries_with_new_sequence",
    run=run,
)
