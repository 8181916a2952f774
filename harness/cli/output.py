"""The one JSON document that ``--json`` prints, and how a run is told in it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.rows import TrialVerdict


def print_json(document: Any) -> None:
    """One document on stdout."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    sys.stdout.buffer.flush()


def run_document(folder: Path, seed: int, verdicts: Sequence[TrialVerdict]) -> dict[str, Any]:
    """The run's folder, counts by verdict, and the verdicts as they stand in ``verdict.json``."""
    return {
        "run": str(folder),
        "seed": seed,
        "counts": dict(sorted(Counter(verdict.verdict for verdict in verdicts).items())),
        "verdicts": list(verdicts),
    }
