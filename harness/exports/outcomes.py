"""The outcomes of a run for other programs: the table of each cell, and the thresholds that were demanded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from harness.model.rows import SCHEMA_VERSION, TrialVerdict
from harness.outcomes.cells import Cell, Row, table
from harness.outcomes.metrics import metrics
from harness.outcomes.thresholds import Evaluation, evaluated
from harness.storage.run_store import RunRecord


def document(
    record: RunRecord, verdicts: Sequence[TrialVerdict], thresholds: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the outcomes of a run: what each metric means, the rows of the table, and the thresholds.

    These are those of the run if none are given.
    """
    demanded = record.thresholds if thresholds is None else thresholds
    return {
        "run": record.run_id,
        "schema_version": SCHEMA_VERSION,
        "metrics": {
            name: {"unit": each.unit, "better": each.better, "meaning": each.what}
            for name, each in metrics().items()
        },
        "rows": [_row(row) for row in table(verdicts)],
        "thresholds": [_threshold(each) for each in evaluated(demanded, verdicts)],
    }


def encoded(record: RunRecord, verdicts: Sequence[TrialVerdict]) -> bytes:
    """Return :func:`document` as JSON."""
    return msgspec.json.format(msgspec.json.encode(document(record, verdicts)), indent=1) + b"\n"


def _row(row: Row) -> dict[str, Any]:
    return {**_named(row.cell), "trials": row.trials, "left_out": row.left_out, "outcomes": row.outcomes}


def _threshold(each: Evaluation) -> dict[str, Any]:
    return {
        "threshold": each.threshold,
        "result": each.result,
        **_named(each.cell),
        "observed": each.observed,
        "trials": each.trials,
    }


def _named(cell: Cell) -> dict[str, str]:
    return cell._asdict()
