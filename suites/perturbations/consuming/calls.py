"""Calls of applications that a client should have refused, and wakeups that do not interrupt, or too often."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.consumer_contract import Position
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.asked_calls import PAUSE, PartitionCall
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import SLACK_NS
from suites.checks.consume.call_accepted import may_be_owned
from suites.perturbations.consuming.deliveries import CONSUME, HISTORY
from suites.perturbations.consuming.edits import called, with_added


def _revoked(evidence: Evidence) -> Sequence[tuple[str, int, int]]:
    """Return process, partition, and a moment somewhat more than a second after the process had lost it."""
    found = []
    for process, owned in declared(evidence).items():
        life = lives(evidence)[process]
        until_ns = life.end_ns if life.closing_ns is None else life.closing_ns
        for partition, spans in owned.items():
            for span in spans:
                at_ns = span.end_ns + SLACK_NS + NS_PER_MS
                call = PartitionCall(process, PAUSE, partition, at_ns, at_ns, None)
                if at_ns < until_ns and not may_be_owned(evidence, call):
                    found.append((process, partition, at_ns))
    return found


def _accepted(evidence: Evidence, place: tuple[str, int, int]) -> Evidence:
    process, partition, at_ns = place
    position = Position(evidence.record.topic, partition, -1)
    return with_added(evidence, *called(evidence, process, PAUSE, position, at_ns))


PERTURBATIONS = (
    Perturbation(
        "pause-accepted-after-revocation",
        HISTORY,
        "accepts the pause of a partition that the client has lost more than a second before",
        ("call-accepted",),
        _revoked,
        _accepted,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
)
