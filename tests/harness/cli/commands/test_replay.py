"""``replay`` in virtual time, without a broker: which trial it replays, and how often it failed."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
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


def test_a_reproduced_verdict_is_said_to_be_so(trial: Path, tmp_path: Path, capsys) -> None:
    code, document, err = replay(capsys, str(trial), "--repeat", "2", "--out-dir", str(tmp_path), "--json")
    told = document["reproduction"]
    assert code == 1 and told["stored"]["verdict"] == "fail"
    assert (told["reproduced"], [each["reproduced"] for each in told["attempts"]]) == (2, [True, True])
    assert re.search(r"\bfail\b.* 2 of 2 ", err)


def test_what_differs_from_the_stored_verdict_is_listed(trial: Path, tmp_path: Path, capsys) -> None:
    copy = tmp_path / "run" / "trials" / trial.name
    shutil.copytree(trial, copy)
    stored = json.loads((copy / VERDICT).read_text())
    stored |= {"verdict": "pass", "requirements": [], "counts": stored["counts"] | {"acked": 1}}
    (copy / VERDICT).write_text(json.dumps(stored))
    code, document, err = replay(capsys, str(copy), "--out-dir", str(tmp_path), "--json")
    [told] = document["reproduction"]["attempts"]
    assert code == 1 and not told["reproduced"] and document["reproduction"]["reproduced"] == 0
    assert {each["code"] for each in told["new"]} == {"gave-up"} and told["counts"]["acked"][0] == 1
    assert re.search(r"\bfail\b.*\bpass\b.* [0-9a-f]{8} gave-up", err)


def test_a_plan_without_a_verdict_has_nothing_to_reproduce(trial: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "plan.json").write_text((trial / TRIAL).read_text())
    code, document, err = replay(capsys, str(tmp_path / "plan.json"), "--out-dir", str(tmp_path), "--json")
    assert code == 1 and document["reproduction"] is None and "reproduced" not in err


def own_trial(tmp_path: Path, **client: object) -> Path:
    """Return a file with a live trial of a command."""
    argv = ["run", "produce/calm", "-c", "reference", "--dry-run", "--json"]
    with redirect_stdout(TextIOWrapper(out := BytesIO())) as stdout:
        assert call(argv) == 0
        stdout.flush()
    spec = json.loads(out.getvalue())["trials"][0]
    spec["client"] = {"name": "mine", "version": "1", "command": ["./mine"], **client}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    return tmp_path / "spec.json"


@pytest.mark.parametrize(
    ("client", "options", "sentence"),
    [
        ({"folder": "/no/such"}, ["--allow-command"], ("command-folder-missing", "mine@1", "/no/such")),
        ({"env": ["HOME", "MINE"]}, ["--allow-command"], ("client-env-not-given", "HOME", "MINE")),
        ({"env": ["HOME"]}, ["--allow-command", "--client-env", "HOME"], ()),
        ({"name": "java"}, ["--allow-command"], ("command-under-registered-name", "java")),
        ({"version": "4.3.1 "}, ["--allow-command"], ("no-trial-there",)),
    ],
    ids=["folder", "environment", "given", "registered", "version"],
)
def test_a_stored_command_runs_where_and_with_what_it_was_recorded(
    client, options, sentence, tmp_path: Path, capsys
) -> None:
    path = own_trial(tmp_path, **client)
    code, document, err = replay(capsys, str(path), *options, "--dry-run", "--json")
    assert code == (2 if sentence else 0)
    if sentence:
        assert has_error(err, *sentence)
    else:
        assert document["trials"][0]["client"]["env"] == ["HOME"]
