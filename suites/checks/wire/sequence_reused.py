"""# sequence-reused

## What it does

Looks for sequence numbers that two different batches carry, although the first of them may be in the log.

## Why it is bad

A broker recognizes a batch that is sent again by its sequence. If the first batch is in the log, the broker
takes the second for a duplicate, acknowledges it, and stores nothing: acknowledged records are lost. The
first batch then gets other numbers, and is stored twice or after records that were sent later.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden.
- **at-least-once, at-most-once**: not judged; batches have no sequences.

## What it needs

The witness's frames, the log and the history. A batch that is encoded again with the same records (new
timestamps, other compression) is the same batch. Two batches with the same numbers are different in any of
these cases: one has more records than the other; one was in transit before a record of the other was handed
to the client; or the client reports records as written in a place where the log has others. The last two
depend on the batch that is in the log. If neither is in the log and both have the same number of records,
nothing is judged. A new epoch begins new sequences.

The numbers of a batch may be used again once every attempt of it was refused with an error that means "not
stored". The parts of a batch that was too large for the broker have its numbers.

The consequences are reported with this finding and not as causes of their own: `lost`, `duplicate`,
`reordered`, `sequence-changed`, and `corrupted` if only the places of acknowledgements are wrong. This holds
only if all such records of the trial are in a partition in which numbers were used again, and were numbered
or acknowledged after that, in that epoch or a later one of the same producer id.

## References

PRD-IDM-13. kafkajs 2.2.4 gives the numbers of a request that failed to the next one; sarama 1.60.1 did so
after a failure that raised its epoch; franz-go issue 1217.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, Operation, view
from harness.model.rows import Finding, LogRecord
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.produce import accounting
from suites.analysis.excuses import grants
from suites.analysis.promises import EXACTLY_ONCE
from suites.analysis.renumbered import renumbered
from suites.checks.wire.sent import Variant, is_numbered, sent, stored, variants

REUSED = Anomaly("sequence-reused", "{count:sequence} carried by two different batches")


class Reuse(NamedTuple):
    """A ``later`` batch that carries sequences of a different ``earlier`` batch.

    ``how`` tells how the difference is known.
    """

    earlier: Variant
    later: Variant
    how: str


@view
def reuses(evidence: Evidence) -> list[Reuse]:
    """Return all pairs, by chain. Overlapping sequences count as reuse too."""
    return [
        Reuse(earlier, later, how)
        for chain in variants(evidence).values()
        for earlier, later in _overlapping(chain)
        if not _is_allowed(earlier, later) and (how := _difference(evidence, earlier, later))
    ]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the reused sequences."""
    found = reuses(evidence)
    if not found:
        return []
    sequences = {(reuse.later.chain, reuse.later.base): reuse for reuse in found}
    finding = REUSED.found(len(sequences), map(_sample, sequences.values()))
    return [replace(finding, explains=_explained(evidence, found))]


def _overlapping(chain: list[Variant]) -> Iterator[tuple[Variant, Variant]]:
    """Yield pairs with a common sequence, the earlier batch first."""
    ordered = sorted(chain, key=lambda variant: variant.base)
    for at, low in enumerate(ordered):
        for high in ordered[at + 1 :]:
            if high.base >= low.end and high.base != low.base:
                break
            yield (low, high) if low.first_ns <= high.first_ns else (high, low)


@grants("parts-of-too-large", "refused-for-certain")
def _is_allowed(earlier: Variant, later: Variant) -> bool:
    return earlier.is_too_large_at(later.first_ns) or not earlier.may_be_stored_at(later.first_ns)


@grants("encoded-again")
def _difference(evidence: Evidence, earlier: Variant, later: Variant) -> str:
    """Return how the two are known to be different batches, or "" if they may be one."""
    if (earlier.base, earlier.records) != (later.base, later.records):
        return "sizes differ"
    place = earlier.chain.partition
    for batch in stored(evidence).get((place, later.crc), ()):
        sends = [evidence.operations[n] for n in batch.numbers if n in evidence.operations]
        if any(send.invoke_ns > earlier.first_ns for send in sends):
            return "the later has records that the client did not have yet"
    for batch in stored(evidence).get((place, earlier.crc), ()):
        answered = {each.answered.base_offset for each in later.sent if each.answered and not each.error_code}
        told = _told(evidence, place, batch.base_offset, len(batch.numbers))
        if batch.base_offset in answered and told - set(batch.numbers):
            return "records are acknowledged where the log has others"
    return ""


def _told(evidence: Evidence, partition: int, base_offset: int, count: int) -> set[int]:
    """Return the records that the client reports in this range of places."""
    places = _places(evidence)
    return {n for at in range(base_offset, base_offset + count) for n in places.get((partition, at), ())}


@view
def _places(evidence: Evidence) -> dict[tuple[int, int], list[int]]:
    places: dict[tuple[int, int], list[int]] = {}
    for n, send in evidence.acknowledged.items():
        if send.offset >= 0:
            places.setdefault((send.partition, send.offset), []).append(n)
    return places


@grants("follows-from-reuse")
def _explained(evidence: Evidence, found: list[Reuse]) -> tuple[str, ...]:
    """Return the codes of the anomalies that can all follow from the reuse.

    A record under a higher epoch of the partition counts too, since a broken chain ends in one.
    """
    since: dict[tuple[int, int], tuple[int, int]] = {}
    since_ns: dict[int, int] = {}
    for reuse in found:
        chain = reuse.later.chain
        place, number = (
            (chain.partition, chain.producer_id),
            (chain.epoch, max(reuse.earlier.base, reuse.later.base)),
        )
        since[place] = min(number, since.get(place, number))
        at_ns = since_ns.get(chain.partition, reuse.later.first_ns)
        since_ns[chain.partition] = min(at_ns, reuse.later.first_ns)

    def follows(record: LogRecord) -> bool:
        first = since.get((record.partition, record.producer_id))
        return first is not None and (record.producer_epoch, record.sequence) >= first

    def was_told_later(send: Operation) -> bool:
        return send.partition in since_ns and (send.complete_ns or 0) >= since_ns[send.partition]

    lost = [was_told_later(send) for send in accounting.lost(evidence)]
    # The broker answers with the place of the batch that it takes for the same one.
    misplaced = [
        found.what in (accounting.Wrong.ELSEWHERE, accounting.Wrong.SHARED)
        and found.n is not None
        and was_told_later(evidence.operations[found.n])
        for found in accounting.corruptions(evidence)
    ]
    doubled = [any(map(follows, copies)) for copies in accounting.duplicates(evidence).values()]
    overtaken = [follows(inversion.record) for inversion in accounting.inversions(evidence)]
    changed = [any(map(follows, copies)) for copies in renumbered(evidence).values()]
    consequences = {
        "corrupted": misplaced,
        "duplicate": doubled,
        "lost": lost,
        "reordered": overtaken,
        "sequence-changed": changed,
    }
    return tuple(code for code, each in consequences.items() if each and all(each))


def _sample(reuse: Reuse) -> Sample:
    earlier, later = reuse.earlier, reuse.later
    return {
        "partition": later.chain.partition,
        "producer_id": later.chain.producer_id,
        "producer_epoch": later.chain.epoch,
        "base_sequence": later.base,
        "records": later.records,
        "earlier_base_sequence": earlier.base,
        "earlier_records": earlier.records,
        "earlier_ns": earlier.first_ns,
        "later_ns": later.first_ns,
        "how": reuse.how,
    }


def _in_doubt(evidence: Evidence) -> int:
    """Return how many batches may or may not have been stored, given what their client was told."""
    return sum(each.error_code != 0 for each in sent(evidence) if is_numbered(each.part))


CHECK = Check(
    name="sequence-reused",
    summary="Sequence numbers that two different batches carry, of which the first may be in the log.",
    requirements=(Requirement("PRD-IDM-13", Level.MUST, arises=_in_doubt),),
    guarantees=EXACTLY_ONCE,
    requires=frozenset({"frames", "log", "history"}),
    killed_mutant="gives_numbers_of_failed_batch_away",
    run=run,
)
