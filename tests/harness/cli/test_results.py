"""The results of a run are exported before they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import exports
from harness.cli import results
from harness.cli.main import call

EXPORTS = (exports.RESULTS, exports.JUNIT, exports.SUMMARY, exports.FINDINGS, exports.OUTCOMES)


def test_a_table_that_cannot_be_shown_costs_no_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = [
        "simulate",
        "generated/network",
        "--seeds",
        "1",
        "--keep",
        "all",
        "-q",
        "--out-dir",
        str(tmp_path),
    ]
    assert call(argv) == 0
    [run] = tmp_path.glob("*-*")
    for name in EXPORTS:
        (run / name).unlink(missing_ok=True)

    def fails(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(results, "tell_outcomes", fails)
    assert call(["judge", str(run)]) > 1
    assert [name for name in EXPORTS if not (run / name).is_file()] == []
