"""JSON: a verdict a line, and the findings of a run by cause as one document."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from harness.judging.fingerprint import causes, document
from harness.model.rows import SCHEMA_VERSION, TrialVerdict
from harness.storage.run_store import RunRecord


def results(verdicts: Iterable[TrialVerdict]) -> bytes:
    """The verdicts, in the order in which they are given."""
    return msgspec.json.Encoder().encode_lines(list(verdicts))


def findings(record: RunRecord, verdicts: Iterable[TrialVerdict], run: Path) -> bytes:
    """Why trials did not pass, by cause; ``run`` is the folder that replays read."""
    found = [document(cause, run) for cause in causes(verdicts)]
    told = {"run": record.run_id, "schema_version": SCHEMA_VERSION, "findings": found}
    return msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n"
