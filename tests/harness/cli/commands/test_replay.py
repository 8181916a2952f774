"""``replay`` in virtual time, without a broker: which trial it replays, and how often it failed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness import exports
from harness.cli.commands.replay import located
from harness.cli.main import call
from harness.files import zstd
from harness.model.errors import UsageError
from harness.model.run_files import LOG, RUN, TRIAL, VERDICT
from testkit.codes import has_error

MUTANT = "mutant-gives_up_on_disconnect"


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """Return a folder of runs with one run of two failing trials."""
    out = tmp_path_factory.mktemp("runs")
    argv = ["simulate", "-c", MUTANT, "-g", "at-least-once", "--scenario", "generated/network"]
    assert (
        call([*argv, "-b", "scripted:4.3.1x1", "--seed", "2", "--trials", "2", "--out-dir", str(out), "-q"])
        == 1
    )
    return out


@pytest.fixture
def trial(kept: Path) -> Path:
    return next(kept.glob(f"*/trials/*-s2/{TRIAL}")).parent


def replay(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, Any, str]:
    code = call(["replay", *argv])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, json.loads(out) if out else None, err


def test_a_trial_is_found_by_its_id(kept: Path, trial: Path, tmp_path: Path, capsys) -> None:
    again = tmp_path / "again"
    (again / "x").mkdir(parents=True)
    assert located(trial.name, kept) == trial / TRIAL
    code, document, _ = replay(capsys, trial.name, "--out-dir", str(kept), "--json")
    assert code == 1 and document["counts"] == {"fail": 1}
    newer = Path(document["run"])
    assert newer.parent == kept and located(trial.name, kept) == newer / "trials" / trial.name / TRIAL


def test_the_newest_run_with_the_trial_is_chosen(tmp_path: Path) -> None:
    for run in ("20260101-000000-aaaa", "20260103-000000-aaaa", "20260102-000000-aaaa"):
        (tmp_path / run / "trials" / "one").mkdir(parents=True)
        (tmp_path / run / RUN).touch()
        (tmp_path / run / "trials" / "one" / TRIAL).touch()
    (tmp_path / "20260104-000000-aaaa" / "trials" / "one").mkdir(parents=True)
    (tmp_path / "20260104-000000-aaaa" / RUN).touch()  # the trial was planned there and never finished
    assert located("one", tmp_path).parent.parent.parent.name == "20260103-000000-aaaa"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("one-twp", ("unknown-name", "'one-twp'", "'one-two'")),
        ("no/such/place", ("no-trial-there", "no/such/place")),
        ("{runs}", ("no-trial-there",)),
        ("{runs}/run", ("run-not-trial",)),
        ("..", ("no-trial-there",)),
    ],
)
def test_a_name_without_a_trial_is_a_usage_error(tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / "run" / "trials" / "one-two").mkdir(parents=True)
    (tmp_path / "run" / RUN).touch()
    (tmp_path / "run" / "trials" / "one-two" / TRIAL).touch()
    with pytest.raises(UsageError) as raised:
        located(name.format(runs=tmp_path), tmp_path)
    assert has_error(raised.value, *sentence)


def test_without_any_run_no_trial_is_found(tmp_path: Path, capsys) -> None:
    code, _, err = replay(capsys, "one-two", "--out-dir", str(tmp_path))
    assert code == 2 and has_error(err, "no-trial-there")
    assert not list(tmp_path.iterdir())


def test_the_number_of_failed_attempts_is_reported(trial: Path, tmp_path: Path, capsys) -> None:
    code, document, err = replay(capsys, str(trial), "--repeat", "3", "--out-dir", str(tmp_path), "--json")
    assert code == 1 and document["counts"] == {"fail": 3}
    assert re.search(rf"{re.escape(trial.name)}\D* 3 \D* 3 ", err)
    assert [verdict["attempt"] for verdict in document["verdicts"]] == [1, 2, 3]
    folders = Path(document["run"]) / "trials"
    assert len({zstd.at_rest(folder / LOG).read_bytes() for folder in folders.iterdir()}) == 1
    assert all((folder / VERDICT).exists() for folder in folders.iterdir())


def test_a_simulated_replay_writes_all_exports(trial: Path, tmp_path: Path, capsys) -> None:
    code, document, err = replay(capsys, str(trial), "--out-dir", str(tmp_path), "--json")
    folder = Path(document["run"])
    assert code == 1 and f"smallest: kafka-trial replay {folder / 'trials' / trial.name}" in err
    for name in (exports.RESULTS, exports.JUNIT, exports.SUMMARY, exports.FINDINGS):
        assert trial.name in (folder / name).read_text()


def test_capture_is_refused_for_a_simulated_trial(trial: Path, tmp_path: Path, capsys) -> None:
    code, _, err = replay(capsys, str(trial), "--capture", "--out-dir", str(tmp_path))
    assert code == 2 and has_error(err, "capture-of-simulated") and not list(tmp_path.iterdir())
