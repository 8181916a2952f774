"""The results of a run are exported before they are shown, and shown although they cannot be exported."""

from __future__ import annotations

import os
from errno import ENOSPC
from pathlib import Path

import pytest

from harness import exports
from harness.cli import results
from harness.cli.main import call

EXPORTS = (exports.RESULTS, exports.JUNIT, exports.SUMMARY, exports.FINDINGS, exports.OUTCOMES)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return the folder of a finished run with one trial, without its exports."""
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
    [folder] = tmp_path.glob("*-*")
    for name in EXPORTS:
        (folder / name).unlink(missing_ok=True)
    return folder


def fails(*_: object) -> None:
    raise OSError(ENOSPC, os.strerror(ENOSPC))


def test_a_table_that_cannot_be_shown_costs_no_export(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "tell_outcomes", fails)
    assert call(["judge", str(run)]) > 1
    assert [name for name in EXPORTS if not (run / name).is_file()] == []


def test_exports_that_cannot_be_written_cost_no_table(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    monkeypatch.setattr(exports, "write", fails)
    assert call(["judge", str(run)]) > 1
    said = capsys.readouterr().err
    assert "generated/network" in said and os.strerror(ENOSPC) in said and "Traceback" not in said
