"""# sequence-chain

## What it does

Follows the sequence numbers that batches carry on the wire: in each partition, for each producer id and epoch, the
first batch begins at 0 and each of the others where the one before it ends. And it looks for records that are in the
log twice under different numbers of one producer id and epoch.

## Why it is bad

A broker refuses a batch that leaves numbers out (OUT_OF_ORDER_SEQUENCE_NUMBER), and what follows it. A batch that is
sent again under other numbers is a new batch to the broker, which stores it once more.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden.
- **at-least-once, at-most-once**: not judged; there batches have no sequences.

## What it needs

The witness's frames, the log and the history. The order in which batches came to the witness does not matter. Numbers
that no batch carried are missing only if the partition has fewer records that failed, or that never had a result,
than there are such numbers: a batch may be given up on its way to the witness. A batch that a broker refused as out of
place left numbers out too, if a later one begins with those and reaches into it. A frame that the witness could not
read may have carried them: inconclusive. Where a topic was created again, its old batches say nothing of the new
ones.

## References

PRD-IDM-02, PRD-IDM-03 (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from harness.anomaly import Anomaly, Sample
from harness.check import Check, Requirement
from harness.evidence import Evidence
from harness.outcome import Level, Outcome
from harness.rows import Finding
from suites.checks.analysis.unread import unread
from suites.checks.findings import doubt_if_unreadable, of_copies
from suites.checks.promises import EXACTLY_ONCE
from suites.checks.wire.keyed import partitions_of_keys
from suites.checks.wire.renumbered import renumbered
from suites.checks.wire.sent import OUT_OF_PLACE, Chain, Variant, variants

GAP = Anomaly("sequence-gap", "{count:sequence number} left out, of {chains:chain}")
CHANGED = Anomaly("sequence-changed", "{count:record} stored again under another sequence")


class _Gap(NamedTuple):
    """The numbers from ``start`` to before ``behind``."""

    start: int
    behind: Variant

    @property
    def numbers(self) -> int:
        return self.behind.base - self.start


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding of each kind: numbers that are missing, records that were numbered anew."""
    found = []
    given_up = _given_up(evidence)
    gaps: list[_Gap] = []
    for chain, batches in variants(evidence).items():
        gaps += _jumps(batches)
        missing = list(_gaps(batches))
        if sum(gap.numbers for gap in missing) > given_up.get(chain.partition, 0) + given_up.get(-1, 0):
            gaps += missing
    if gaps:
        chains = len({gap.behind.chain for gap in gaps})
        finding = GAP.found(
            sum(gap.numbers for gap in gaps), map(_sample, gaps), requirement="PRD-IDM-02", chains=chains
        )
        doubt_if_unreadable(finding, len(unread(evidence)))
        found.append(finding)
    if changed := renumbered(evidence):
        samples = (of_copies(n, copies) for n, copies in sorted(changed.items()))
        found.append(CHANGED.found(len(changed), samples, requirement="PRD-IDM-03"))
    return found


def _gaps(batches: list[Variant]) -> Iterator[_Gap]:
    """In the order of their numbers, from 0."""
    end = 0
    for batch in sorted(batches, key=lambda batch: batch.base):
        if batch.base > end:
            yield _Gap(end, batch)
        end = max(end, batch.end)


def _jumps(batches: list[Variant]) -> Iterator[_Gap]:
    """Numbers that a batch left out, which was refused as out of place, and with which others then went.

    What goes later begins in the gap and reaches into the batch: so nothing on its way had the numbers that were left
    out.
    """
    end = 0
    for at, batch in enumerate(batches):
        is_refused = all(each.error_code in OUT_OF_PLACE for each in batch.sent)
        later = batches[at + 1 :]
        if is_refused and any(end <= other.base < batch.base < other.end for other in later):
            yield _Gap(end, batch)
        end = max(end, batch.end)


def _given_up(evidence: Evidence) -> Mapping[int, int]:
    """Partition -> how many of its records have no success; -1 for those of unknown partition."""
    by_key = partitions_of_keys(evidence)
    counts: dict[int, int] = {}
    for n, send in evidence.sends.items():
        if send.outcome is not Outcome.OK:
            partition = send.partition if send.partition >= 0 else by_key(n)
            counts[partition] = counts.get(partition, 0) + 1
    return counts


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
    """How many attempts are another of the same batch."""
    return sum(len(batch.sent) - 1 for chain in variants(evidence).values() for batch in chain)


CHECK = Check(
    name="sequence-chain",
    summary="Sequence numbers that do not follow each other, or that a retry changed.",
    requirements=(
        Requirement("PRD-IDM-02", Level.MUST, arises=_batches),
        Requirement("PRD-IDM-03", Level.MUST, arises=_retries),
    ),
    guarantees=EXACTLY_ONCE,
    channels=frozenset({"frames", "log", "history"}),
    mutant="retries_with_new_sequence",
    find=find,
)
