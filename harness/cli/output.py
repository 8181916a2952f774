"""The JSON document that ``--json`` prints, and the description of a run in it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from harness.judging.fingerprint import causes, document
from harness.model.errors import EnvironmentProblem
from harness.model.rows import TrialVerdict
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


def run_document(folder: Path, seed: int, verdicts: Sequence[TrialVerdict]) -> dict[str, Any]:
    """Return the run's folder, counts by verdict, findings by cause, and the verdicts as in ``verdict.json``.

    ``availability`` has, for each client and guarantee, the share of a trial's load that succeeded, such as records
    that were acknowledged: the median, the lowest and the highest.
    """
    return {
        "run": str(folder),
        "seed": seed,
        "counts": dict(sorted(Counter(verdict.verdict for verdict in verdicts).items())),
        "findings": [document(cause, folder) for cause in causes(verdicts)],
        "availability": _availability(verdicts),
        "verdicts": list(verdicts),
    }


def _availability(verdicts: Sequence[TrialVerdict]) -> list[dict[str, Any]]:
    rows = []
    for client, guarantee in sorted({(verdict.client, verdict.guarantee) for verdict in verdicts}):
        mine = [each for each in verdicts if (each.client, each.guarantee) == (client, guarantee)]
        shares = sorted(each.availability.share for each in mine if each.availability.offered)
        rows.append(
            {
                "client": client,
                "guarantee": guarantee,
                "trials": len(mine),
                "counts": dict(sorted(Counter(each.verdict for each in mine).items())),
                "median": median(shares) if shares else None,
                "lowest": shares[0] if shares else None,
                "highest": shares[-1] if shares else None,
            }
        )
    return rows
