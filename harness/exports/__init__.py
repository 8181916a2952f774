"""Interim placeholder of the lead until the real module is written over it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.rows import TrialVerdict
from harness.store import RunStore

JUNIT, SUMMARY = "junit.xml", "summary.md"


def write(store: RunStore, verdicts: Sequence[TrialVerdict]) -> None:
    """The outputs of a run."""
