"""Wholeness: whether the evidence of a trial is all there and agrees with itself. Pure.

What is missing, cut or contradictory proves nothing, neither for a client nor against it: such a trial is a
harness-error. The judge asks before anything else. Each rule says what collecting always leaves, in every scenario and
in both modes; a rule that a client could break by a defect of its own is none, for then the defect is to be judged.

The exceptions are those of the faults: a topic that was trimmed or created again has another log, and a frame that a
rule changed is not the one that the other side sent. There is one module for each channel: the client's history, the
frames at the witness, the log that was read back, and the client's trace.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.judging.completeness import frames, history, log, trace
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.rows import Reason

PHASES_LACK = ReasonKind("phases-incomplete", "the trial's phases are not all there, or not in order")
OTHER_CLIENT = ReasonKind("other-client", "the record is of {found}, the plan asked for {asked}")
FAULTS_LACK = ReasonKind(
    "faults-incomplete", "the plan has {asked:fault}, and {found} of them have their rows"
)

Rule = Callable[[Evidence], Reason | None]


def lacking(evidence: Evidence) -> Reason | None:
    """What is missing from completely collected evidence, or contradicts the rest of it; None if it is whole."""
    return next((reason for rule in RULES if (reason := rule(evidence)) is not None), None)


def _phases(evidence: Evidence) -> Reason | None:
    phases = evidence.record.phases
    moments = (phases.load_ns, phases.heal_ns, phases.final_ns, phases.end_ns)
    known = [moment for moment in moments if moment is not None]
    return None if len(known) == len(moments) and known == sorted(known) else PHASES_LACK.reason()


def _client(evidence: Evidence) -> Reason | None:
    """A program of somebody's own has the version that it says it has."""
    asked, told = evidence.record.spec.client, evidence.record.client.get("client_version")
    if asked.command or told == asked.version:
        return None
    return OTHER_CLIENT.reason(found=f"version {told}", asked=f"version {asked.version}")


def _faults(evidence: Evidence) -> Reason | None:
    asked, found = evidence.record.spec.faults, tuple(row.spec for row in evidence.faults)
    return None if asked == found else FAULTS_LACK.reason(asked=len(asked), found=len(found))


RULES: tuple[Rule, ...] = (
    _phases,
    _client,
    _faults,
    history.numbered,
    history.kept_the_contract,
    history.ended,
    frames.connections,
    frames.exchanges,
    log.offsets,
    log.answered,
    frames.requests,
    trace.told,
)
