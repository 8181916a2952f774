"""The option ``--capture``: where it is refused, and what is reported if capturing is not possible."""

from __future__ import annotations

import json

import pytest

from harness.capture.tap import LACKS_RIGHT
from harness.cli.commands import doctor
from harness.cli.main import call
from harness.model.run_files import CAPTURE
from harness.storage.run_store import RunStore
from testkit.codes import has_error

pytestmark = pytest.mark.long("starts the doctor and the capturing process")


def test_capture_is_refused_when_a_run_is_resumed(capsys, tmp_path):
    assert call(["run", "--resume", str(tmp_path), "--capture"]) == 2
    assert has_error(capsys.readouterr().err, "option-beside-resume")


def test_capture_is_refused_for_a_simulated_trial(capsys, tmp_path):
    assert (
        call(["simulate", "--trials", "1", "--keep", "all", "--seed", "4", "--out-dir", str(tmp_path)]) == 0
    )
    [verdict] = RunStore.open(tmp_path).verdicts()
    folder = RunStore.open(tmp_path).trial_folder(verdict.trial)
    assert call(["replay", str(folder), "--capture", "--out-dir", str(tmp_path / "again")]) == 2
    assert has_error(capsys.readouterr().err, "capture-of-simulated")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(("lacks", "state"), [(None, "ok"), (LACKS_RIGHT, "missing")])
def test_doctor_reports_whether_capturing_is_possible(capsys, monkeypatch, lacks, state):
    # Whether this process may capture depends on the machine.
    monkeypatch.setattr(doctor, "lacking", lambda: lacks)
    call(["doctor", "--json"])
    [found] = [one for one in json.loads(capsys.readouterr().out) if one["name"] == "capture"]
    assert (found["state"], found["required"]) == (state, False)
    assert bool(found["fix"]) == (lacks is not None)


@pytest.mark.jvm
@pytest.mark.usefixtures("without_right")
def test_a_run_without_the_right_to_capture_warns_once(capsys, tmp_path):
    out = str(tmp_path / "runs")
    assert call(["run", "produce/calm", "-c", "reference", "--capture", "--out-dir", out]) == 0
    assert capsys.readouterr().err.count("no capture: ") == 1
    store = RunStore.open(tmp_path / "runs")
    trials = [verdict.trial for verdict in store.verdicts()]
    assert len(trials) == 2
    for trial in trials:
        assert store.read_evidence(trial).record.capture.unavailable_reason == LACKS_RIGHT
        assert not (store.trial_folder(trial) / CAPTURE).exists()
