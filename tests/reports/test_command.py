"""``kafka-trial report``: from a run's folder to its pages, and its errors."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.cli.main import call
from harness.model.errors import NothingSelected, UsageError
from harness.storage.run_store import RunStore
from reports import command
from reports.command import build_report
from testkit.codes import raises_code

Runs = Callable[..., RunStore]


def test_folder_that_is_not_a_run_is_an_error(tmp_path: Path) -> None:
    with raises_code(UsageError, "not-a-run"):
        build_report(tmp_path)


def test_run_without_a_finished_trial_is_an_error(run_of: Runs, story: Callable[..., Any]) -> None:
    store = run_of(planned=[story("never").spec])
    with raises_code(NothingSelected, "no-finished-trial"):
        build_report(store.folder)


@pytest.fixture
def swept() -> Iterator[None]:
    """PySpark leaves sockets to the garbage collector. Collect them within the test that caused them."""
    yield
    gc.collect()


@pytest.mark.jvm
@pytest.mark.usefixtures("swept")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_disagreement_is_reported_and_exits_3(
    whole_run: Callable[..., Any], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    _, store = whole_run(tmp_path)
    assert call(["report", str(tmp_path), "--json"]) == 3
    out, err = capfdbinary.readouterr()
    told = json.loads(out)
    assert told["agreement"]["trials"] == 4
    assert {(row["trial"], row["count"]) for row in told["agreement"]["disagreements"]} == {
        ("alo-reference", "lost"),
        ("alo-reference", "duplicated"),
    }
    assert Path(told["report"]) == store.folder / "report" / "index.html"
    assert err.decode().splitlines() == [
        "PySpark recomputed the delivery of 4 trials (2,240 identities): "
        "1 disagrees with the online checks, so this run proves nothing.",
        f"report: {told['report']}",
    ]
    assert (
        "its verdict is withdrawn" in (store.folder / "report" / "trials" / "alo-reference.html").read_text()
    )
    children = psutil.Process(os.getpid()).children(recursive=True)
    assert [child for child in children if child.name() == "java"] == []


def test_agreement_is_reported_and_exits_0(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = command.ReportResult(tmp_path / "index.html", 2, [], "all agree")
    # Spark needs a JVM and a minute, and only the command around it is tested.
    monkeypatch.setattr(command, "build_report", lambda run, master, out: result)
    assert command.report(tmp_path, as_json=True) == 0
    out, err = capfd.readouterr()
    nothing: dict[str, list[Any]] = {
        name: [] for name in ("disagreements", "identity_disagreements", "explanation_disagreements")
    }
    assert json.loads(out) == {
        "report": str(result.path),
        "agreement": {"trials": 2, "identities": 0, **nothing},
        "seconds": {},
    }
    assert err.splitlines() == ["all agree", f"report: {result.path}"]
    assert command.report(tmp_path, quiet=True) == 0
    assert capfd.readouterr() == ("", "")
