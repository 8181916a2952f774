"""JSON: one verdict per line, and one document with the findings of a run by cause."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from harness.judging.fingerprint import causes, document
from harness.model.rows import SCHEMA_VERSION, TrialVerdict
from harness.storage.run_store import RunRecord


def results(verdicts: Iterable[TrialVerdict]) -> bytes:
    """Return the verdicts in the given order."""
    return msgspec.json.Encoder().encode_lines(list(verdicts))


def findings(record: RunRecord, verdicts: Iterable[TrialVerdict], run: Path) -> bytes:
    """Return why trials did not pass, by cause. ``run`` is the folder for the replay commands."""
    found = [document(cause, run) for cause in causes(verdicts)]
    told = {
        "run": record.run_id,
        "schema_version": SCHEMA_VERSION,
        "left_out": record.left_out,
        "findings": found,
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n"
