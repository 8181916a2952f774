"""Clients that keep exceptions of the application's listener from the application."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.consumer_contract import ConsumerError
from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.checks.consume.listener_error_hidden import OTHER_CALLS, Thrown, thrown
from suites.perturbations.consuming.edits import with_changed
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.perturbation import channels


def _told(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the exceptions whose members live on for long enough to be told."""
    until_ns = evidence.record.phases.final_ns or 0
    return [at for at, each in enumerate(thrown(evidence)) if each.is_told and each.span.end_ns < until_ns]


def _errors(evidence: Evidence, each: Thrown) -> list[int]:
    return [
        at
        for at, event in enumerate(evidence.history)
        if isinstance(event, ConsumerError)
        and event.producer == each.process
        and event.call not in OTHER_CALLS
        and each.span.begin_ns <= event.mono_ns <= each.span.end_ns
    ]


def _hidden(evidence: Evidence, place: int) -> Evidence:
    return with_changed(evidence, dict.fromkeys(_errors(evidence, list(thrown(evidence))[place])))


PERTURBATIONS = (
    Perturbation(
        "listener-error-swallowed",
        channels("history"),
        "does not tell the application of an exception of its listener",
        ("listener-error-hidden",),
        _told,
        _hidden,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
)
