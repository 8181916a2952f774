"""# corrupted

## What it does

Compares what was sent with what is in the log, and the acknowledged place of each record with its real place.
It compares each value with its checksum, each batch with its CRC, each key with the key of that record, and
headers with none. It also compares the acknowledged partition and offset with the place in the log, and
acknowledgements with one another.

## Why it is bad

Every consumer reads a damaged value from then on. A wrong offset or partition in an acknowledgement breaks
applications that store positions, and shows that the client has assigned an answer to the wrong record.

## How it is judged per guarantee

Forbidden under all guarantees. An acknowledgement without an offset makes no claim and is not judged. If a
record has several copies, which at-least-once allows, the place of any copy is accepted. A record that is
nowhere in the log is ``lost``, not corrupted.

## What it needs

The history and the raw record batches of the log. It also needs the faults, because a topic that was created
again assigns its places a second time.

## References

PRD-ACC-12 (KAFKA-19012), PRD-SND-01. Jepsen's ``inconsistent-offsets``; ``offset already taken`` in
Redpanda's suite.
"""

from __future__ import annotations

from collections import defaultdict

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, Operation
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.produce import accounting
from harness.workloads.produce.accounting import Corruption, Wrong
from suites.analysis.excuses import grants
from suites.analysis.met import attempts_without_success, told_offsets
from suites.analysis.promises import EVERY
from suites.analysis.recreated import recreations

CORRUPTED = Anomaly("corrupted", "{count:place}: {told}")


def run(evidence: Evidence) -> list[Finding]:
    """Return one finding per reason. Each counts places."""
    by_reason: dict[Wrong, list[Corruption]] = defaultdict(list)
    given_anew = _given_anew(evidence)
    for corruption in accounting.corruptions(evidence):
        if corruption.what is Wrong.SHARED and corruption.n in given_anew:
            continue
        by_reason[corruption.what].append(corruption)
    return [
        CORRUPTED.found(len(found), map(_sample, found), told=what.value, what=what.name)
        for what, found in by_reason.items()
    ]


@grants("place-given-anew")
def _given_anew(evidence: Evidence) -> set[int]:
    """Return the first record acknowledged at each place after the topic had been created again."""
    first: dict[tuple[int, int, int], Operation] = {}
    for send in sorted(evidence.acknowledged.values(), key=lambda send: send.complete_ns or 0):
        age = sum(moment_ns <= (send.complete_ns or 0) for moment_ns in recreations(evidence))
        if age:
            first.setdefault((age, send.partition, send.offset), send)
    return {send.n for send in first.values()}


def _sample(found: Corruption) -> Sample:
    return {
        "n": found.n,
        "partition": found.partition,
        "offset": found.offset,
        "expected": found.expected,
        "found": found.found,
    }


CHECK = Check(
    name="corrupted",
    summary="Records whose content in the log differs from what was sent, or whose place was acknowledged wrongly.",
    requirements=(
        Requirement("PRD-ACC-12", Level.MUST, arises=attempts_without_success),
        Requirement("PRD-SND-01", Level.MUST, arises=told_offsets),
    ),
    guarantees=EVERY,
    requires=frozenset({"history", "log", "faults"}),
    killed_mutant="corrupts_on_retry",
    run=run,
)
