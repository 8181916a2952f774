"""A trial with twelve faults is shrunk to one fault, with real brokers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.storage.run_store import RunStore

pytestmark = [pytest.mark.jvm, pytest.mark.extended]

MUTANT = "mutant-gives_up_on_disconnect"
#: Eighteen commands in less than two seconds: long enough for a dozen faults, and a short wait.
LOAD = {"records": 360, "records_per_command": 20, "interval_ms": 100}


@pytest.fixture(scope="module")
def dozen(line, tmp_path_factory) -> Path:
    """Return a trial of a client that fails when a connection is lost: one fault cuts it, eleven delay it."""
    argv = ["run", "frame/torn-answer", "-c", MUTANT, "-g", "at-least-once", "--dry-run"]
    [spec] = line.json(*argv)["trials"]
    slow: dict[str, Any] = {"kind": "latency", "duration_ms": 80, "params": {"upstream_ms": 5}}
    faults = [slow | {"start": {"on": "elapsed", "ms": 100 * at}} for at in range(12)]
    # It acts on a frame and ends late, as the trial may be slow beside another load.
    answers = {"api": "Produce", "direction": "response", "first": 2, "count": 1}
    cut = {"kind": "close_at_frame", "duration_ms": 6_000, "params": {"at_byte": 11}, "frames": answers}
    faults[4] = cut | {"start": {"on": "elapsed", "ms": 0}}
    path = tmp_path_factory.mktemp("dozen") / "spec.json"
    path.write_text(json.dumps(spec | {"faults": faults, "workload": LOAD, "trial": "a-dozen"}))
    return path


def test_only_the_fault_that_causes_the_failure_is_kept(line, dozen: Path) -> None:
    shrunk = line.json("shrink", str(dozen), "--faults-only", "-j", "8")
    minimal = shrunk["minimal"]
    assert shrunk["complete"] and shrunk["anomaly"] == "gave-up"
    assert shrunk["original"]["faults"] == 12
    assert [fault["kind"] for fault in minimal["spec"]["faults"]] == ["close_at_frame"]
    assert minimal["one_minimal"] and minimal["failed"] > 0
    store = RunStore.open(line.folder / shrunk["run"])
    assert len(list(store.verdicts())) == shrunk["trials"]
    assert json.loads((line.folder / minimal["file"]).read_text()) == minimal["spec"]
