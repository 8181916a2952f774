"""Check whether the evidence of a trial is complete and consistent. Pure.

Evidence that is missing, cut or contradictory proves nothing for or against a client; such a trial is a harness-error.
The judge checks this first. Each rule states what collecting always leaves, in every scenario and both modes. A rule
that a client could break by its own defect does not belong here, since that defect has to be judged.

The only exceptions are due to faults: a topic that was trimmed or created again has another log, and a frame that a
rule changed is not the frame that the other side sent. Each channel has a module: the client's history, the frames at
the witness, the log that was read back, and the client's trace.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.judging.completeness import frames, group, history, log, trace
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.parts import processes, producers, topics
from harness.model.rows import Reason

PHASES_LACK = ReasonKind("phases-incomplete", "the trial's phases are incomplete or out of order")
OTHER_CLIENT = ReasonKind("other-client", "the plan asked for {asked}, but the record is of {found}")
FAULTS_LACK = ReasonKind("faults-incomplete", "the plan has {asked:fault}, but {found} have rows")

Rule = Callable[[Evidence], Reason | None]


def lacking(evidence: Evidence) -> Reason | None:
    """Return what is missing or contradictory in completely collected evidence, or None if it is whole."""
    return next((reason for rule in RULES if (reason := rule(evidence)) is not None), None)


def _phases(evidence: Evidence) -> Reason | None:
    phases = evidence.record.phases
    moments = (phases.load_ns, phases.heal_ns, phases.final_ns, phases.end_ns)
    known = [moment for moment in moments if moment is not None]
    return None if len(known) == len(moments) and known == sorted(known) else PHASES_LACK.reason()


def _client(evidence: Evidence) -> Reason | None:
    """Check the client. A command of the user has the version that it reports."""
    asked, told = evidence.record.spec.client, evidence.record.client.get("client_version")
    if asked.command or told == asked.version:
        return None
    return OTHER_CLIENT.reason(found=f"version {told}", asked=f"version {asked.version}")


def _faults(evidence: Evidence) -> Reason | None:
    asked, found = evidence.record.spec.faults, tuple(row.spec for row in evidence.faults)
    return None if asked == found else FAULTS_LACK.reason(asked=len(asked), found=len(found))


def _of_each(divided: Callable[[Evidence], list[Evidence]], rule: Rule) -> Rule:
    """Return a rule that holds if ``rule`` holds for each part of the evidence."""

    def each(evidence: Evidence) -> Reason | None:
        return next((reason for part in divided(evidence) if (reason := rule(part)) is not None), None)

    return each


def _of_producers(rule: Rule) -> Rule:
    """Return a rule that holds if ``rule`` does, or if the clients consume what the harness wrote."""
    return lambda evidence: None if group.reads(evidence) else rule(evidence)


RULES: tuple[Rule, ...] = (
    _phases,
    _client,
    _faults,
    _of_each(processes, history.numbered),
    _of_each(processes, history.kept_the_contract),
    _of_each(processes, history.ended),
    frames.connections,
    frames.exchanges,
    _of_each(topics, log.offsets),
    _of_each(topics, log.answered),
    _of_producers(_of_each(topics, frames.requests)),
    _of_producers(_of_each(producers, trace.told)),
    group.members,
)
