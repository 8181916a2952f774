"""The JSON document that ``--json`` prints, and the description of a run in it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.exports import outcomes
from harness.judging.fingerprint import causes, document
from harness.model.errors import EnvironmentProblem
from harness.model.rows import TrialVerdict
from harness.storage.run_store import RunRecord
from harness.text.escaping import for_json


class OutputClosed(Exception):
    """The reader of stdout has closed it. The option parser would handle a BrokenPipeError itself."""


def print_json(document: Any) -> None:
    """Print one document on stdout."""
    put(for_json(msgspec.json.format(msgspec.json.encode(document), indent=2)) + b"\n")


def put(data: bytes) -> None:
    """Write all of ``data`` to stdout and flush it.

    Raise OutputClosed if the reader has closed it, and EnvironmentProblem if it cannot be written to.
    """
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        # The rest of the buffer would fail again at exit, and change the exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise OutputClosed from None
        raise EnvironmentProblem(
            "cannot-write-stdout", "cannot write to stdout: {why}", why=error.strerror or error
        ) from error


def run_document(folder: Path, record: RunRecord, verdicts: Sequence[TrialVerdict]) -> dict[str, Any]:
    """Return the run's folder, counts by verdict, findings by cause, outcomes, and the verdicts of ``verdict.json``.

    ``outcomes`` and ``thresholds`` are those of ``outcomes.json``. ``left_out`` has the clients that could not be
    installed.
    """
    told = outcomes.document(record, verdicts)
    return {
        "run": str(folder),
        "seed": record.plan.seed,
        "counts": dict(sorted(Counter(verdict.verdict for verdict in verdicts).items())),
        "findings": [document(cause, folder) for cause in causes(verdicts)],
        "outcomes": told["rows"],
        "thresholds": told["thresholds"],
        "left_out": record.left_out,
        "verdicts": list(verdicts),
    }
