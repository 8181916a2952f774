"""# skipped

## What it does

Looks for records of the log that no member of the group was given, although the group went past them: a later record
of the partition was delivered, or a later offset was committed.

## Why it is bad

The group will never read these records again. To the application they are lost, although the broker has them.

## How it is judged per guarantee

- **at-least-once**: forbidden. One is enough.
- **at-most-once**: not judged; a member that commits before it processes may skip what it was about to process.

After an unclean election, an offset that the group has stored may lie behind records that took the place of lost ones.
A new owner that begins there skips them; applications commit without a leader epoch, so its client cannot know. An
owner that had the partition before has to notice it (KIP-320).

A record of a batch that a fault has damaged is not judged if the application got an error before it went past it.

A record that the group has not reached is not skipped (see ``undelivered``). With an auto.offset.reset other than
earliest, a group may begin behind records: those before its first commit of the partition are not judged.

## What it needs

The members' histories, every partition read to its end, and the offsets that the coordinator stores after the trial.

## References

E2E-DEL-04, CSM-FET-02 (``CompletedFetch``). Jepsen's ``poll-skip`` and ``lost-write``.
"""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from suites.analysis.consuming.damages import is_told
from suites.analysis.consuming.passed import passed
from suites.analysis.consuming.promised import is_promised
from suites.analysis.consuming.resets import began_behind
from suites.analysis.consuming.tried import doubt_if_shared

SKIPPED = Anomaly("skipped", "{count:record} of the log passed over without being delivered to any member")


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the records."""
    skipped = [
        place
        for place in passed_over(evidence)
        if is_promised(evidence, place) and not began_behind(evidence, place) and not is_told(evidence, place)
    ]
    if not skipped:
        return []
    found = SKIPPED.found(len(skipped), _samples(skipped))
    doubt_if_shared(evidence, found)
    return [found]


def passed_over(evidence: Evidence) -> list[tuple[int, int]]:
    """Return partition and offset of the records that the group went past and no member was given."""
    ends = passed(evidence)
    return [place for place in accounting.missed(evidence) if place[1] < ends.get(place[0], 0)]


def _samples(places: Iterable[tuple[int, int]]) -> Iterable[Sample]:
    return ({"partition": partition, "offset": offset} for partition, offset in places)


def _delivered(evidence: Evidence) -> int:
    return len(accounting.deliveries(evidence))


CHECK = Check(
    name="skipped",
    summary="Records of the log that the group went past and no member was given.",
    requirements=(
        Requirement("E2E-DEL-04", Level.MUST, arises=_delivered),
        Requirement("CSM-FET-02", Level.MUST, arises=_delivered),
    ),
    guarantees=frozenset({Guarantee.AT_LEAST_ONCE}),
    requires=frozenset({"history", "log"}),
    killed_mutant="commits_one_too_far",
    run=run,
    workloads=frozenset({"consume"}),
)
