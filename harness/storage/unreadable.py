"""Stored trials that cannot be read: each is a harness-error with the reason, and the others are not affected.

A run's files may be torn, edited, or come from elsewhere. Damaged files of one trial do not prevent a report of the
rest of the run.
"""

from __future__ import annotations

from typing import Final

from harness.model.errors import KafkaTrialError
from harness.model.evidence import Evidence
from harness.model.rows import Ending, Phases, Reason, TrialRecord, TrialVerdict
from harness.model.spec import TrialSpec
from harness.model.verdicts import Verdict
from harness.text.escaping import safe_line

CODE: Final = "evidence-unreadable"
MOST_CHARS: Final = 400


def why(error: Exception) -> str:
    """Return the error of a stored trial as a sentence."""
    told = str(error) if isinstance(error, KafkaTrialError) else f"{type(error).__name__}: {error}"
    return safe_line(f"its evidence cannot be read: {told}", MOST_CHARS)


def verdict(spec: TrialSpec, reason: str) -> TrialVerdict:
    """Return the verdict of a trial whose files are damaged."""
    return TrialVerdict.of(spec, Verdict.HARNESS_ERROR, Reason(CODE, {}, reason))


def evidence(spec: TrialSpec, run_id: str, reason: str) -> Evidence:
    """Return the evidence that is left of it: the plan."""
    record = TrialRecord(spec, run_id, "", 0, Phases(), Ending.HARNESS_ERROR, reason, CODE)
    return Evidence(record, (), (), (), ())
