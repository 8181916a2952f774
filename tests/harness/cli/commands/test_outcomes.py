"""``kafka-trial outcomes``, and thresholds and outcomes in ``run``, ``campaign``, ``judge`` and ``diff``."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from harness.cli.commands import judge
from harness.cli.main import call
from harness.model.rows import Availability
from harness.storage.run_store import RunStore
from testkit.codes import has_error


@pytest.fixture(scope="session")
def trial(verdict):
    """Return a trial in which ``given_up`` of 100 records were given up."""

    def made(given_up, **of):
        return replace(
            verdict(**of), availability=Availability(offered=100, acked=100 - given_up, failed=given_up)
        )

    return made


@pytest.fixture
def demanding(run_of):
    """Return the folder of a run with these thresholds and trials."""

    def made(thresholds, *verdicts):
        folder = run_of("demanding", *verdicts)
        record = replace(RunStore(folder).record, thresholds=tuple(thresholds))
        store = RunStore(folder)
        store._write("run.json", record)
        return folder

    return made


def test_the_table_is_on_stdout_and_thresholds_on_stderr(demanding, trial, capsys):
    folder = demanding(["given_up < 5%"], trial(10), trial(30, seed=2))
    assert call(["outcomes", str(folder), "--threshold", "recovery < 5s"]) == 1
    out, err = capsys.readouterr()
    assert "20.0% (10.0–30.0)" in out and "threshold" not in out
    assert [line.split(":")[0] for line in err.splitlines()] == [
        "threshold missed",
        "threshold not-evaluated",
        "thresholds",
    ]


@pytest.mark.parametrize(
    ("thresholds", "code"),
    [([], 0), (["given_up < 50%"], 0), (["given_up < 5%"], 1), (["recovery < 5s"], 4)],
)
@pytest.mark.parametrize("form", [[], ["--json"], ["--format", "md"], ["--by", "client"]])
def test_the_exit_code_is_that_of_the_thresholds_in_every_format(run_of, trial, thresholds, code, form):
    folder = run_of("run", trial(10))
    options = [part for each in thresholds for part in ("--threshold", each)]
    assert call(["outcomes", str(folder), *options, *form]) == code


def test_a_failed_trial_alone_does_not_fail_it(run_of, trial):
    assert call(["outcomes", str(run_of("run", trial(10, verdict="fail")))]) == 0


def test_json_and_markdown(demanding, trial, capsys):
    folder = demanding(["given_up < 50%"], trial(10), trial(30, client="d@1"))
    assert call(["outcomes", str(folder), "--json", "--threshold", "given_up < 20%"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [row["client"] for row in told["rows"]] == ["c@1", "d@1"]
    assert [each["result"] for each in told["thresholds"]] == ["met", "met", "met", "missed"]
    assert call(["outcomes", str(folder), "--format", "md", "--by", "client"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("|") for line in lines) and "scenario" not in lines[0]
    assert "10.0%" in lines[2] and "30.0%" in lines[3]


@pytest.mark.parametrize(
    ("threshold", "code"),
    [
        ("given_up <", "threshold-syntax"),
        ("given_up < 5s", "threshold-unit"),
        ("give_up < 5", "unknown-name"),
    ],
)
@pytest.mark.parametrize("command", [["run", "produce/calm", "-c", "reference"], ["outcomes"], ["campaign"]])
def test_a_bad_threshold_is_refused_before_anything_starts(
    run_of, trial, tmp_path, capsys, threshold, code, command
):
    out = tmp_path / "out"
    file = tmp_path / "campaign.toml"
    file.write_text('clients = ["reference"]\nscenarios = ["produce/calm"]\n')
    more = {"run": ["--out-dir", str(out)], "campaign": [str(file), "--out-dir", str(out)]}
    options = more.get(command[0]) or [str(run_of("run", trial(10)))]
    assert call([*command, *options, "--threshold", threshold]) == 2
    told = capsys.readouterr()
    assert has_error(told.err, code) and not told.out and not out.exists()


def test_a_bad_threshold_in_a_campaign_file_names_its_place(tmp_path, capsys):
    file = tmp_path / "campaign.toml"
    file.write_text(
        'clients = ["reference"]\nscenarios = ["produce/calm"]\nthresholds = ["lost < 1", "lost < 5s"]\n'
    )
    assert call(["campaign", str(file), "--out-dir", str(tmp_path / "out")]) == 2
    assert has_error(capsys.readouterr().err, "threshold-unit", "campaign.toml", "thresholds", "5s")
    assert not (tmp_path / "out").exists()


def test_a_resumed_run_refuses_other_thresholds(run_of, trial, capsys):
    folder = run_of("run", trial(10))
    assert call(["run", "--resume", str(folder), "--threshold", "given_up < 50%"]) == 2
    assert has_error(capsys.readouterr().err, "option-beside-resume", "--threshold")


@pytest.mark.parametrize("wrong", ["--resume", "--rerun-failed"])
@pytest.mark.parametrize(
    "typed",
    [
        ["produce/calm"],
        ["-c", "java"],
        ["-b", "local"],
        ["-g", "idempotent"],
        ["--seed", "2"],
        ["--seeds", "2"],
        ["-X", "linger.ms=1"],
        ["--load", "records=5"],
    ],
    ids=" ".join,
)
def test_a_stored_plan_refuses_each_option_that_would_select_other_trials(
    run_of, trial, capsys, wrong, typed
):
    folder = run_of("run", trial(10))
    assert call(["run", wrong, str(folder), *typed]) == 2
    names = {"-c": "--client", "-b": "--broker", "-g": "--guarantee", "-X": "--setting"}
    option = names.get(typed[0], typed[0] if len(typed) > 1 else "SCENARIO")
    assert has_error(capsys.readouterr().err, f"option-beside-{wrong.removeprefix('--')}", option)


@pytest.mark.parametrize(
    ("thresholds", "said", "code"),
    [
        (["given_up < 50%"], "pass", 0),
        (["given_up < 5%"], "pass", 1),
        (["recovery < 5s"], "pass", 4),
        (["given_up < 50%"], "fail", 1),
        (["given_up < 5%"], "harness-error", 3),
    ],
)
def test_judging_again_evaluates_the_stored_thresholds(
    demanding, trial, monkeypatch, capsys, thresholds, said, code
):
    folder = demanding(thresholds, trial(10), trial(10, seed=2, verdict=said))
    monkeypatch.setattr(judge, "rejudge", lambda store: [*store.verdicts()])
    assert call(["judge", str(folder), "--json"]) == code
    [each] = json.loads(capsys.readouterr().out)["thresholds"]
    assert each["threshold"] == thresholds[0]
    assert {"outcomes.json", "junit.xml"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("stored", "code"),
    [
        ("given_up <", "threshold-syntax"),
        ("\x1b[31m < 1", "threshold-syntax"),
        ("no_such_metric < 1", "unknown-name"),
    ],
)
def test_an_invalid_stored_threshold_is_a_usage_error(demanding, trial, capsys, stored, code):
    folder = demanding([stored], trial(10))
    assert call(["outcomes", str(folder)]) == 2
    err = capsys.readouterr().err
    assert has_error(err, code) and "\x1b" not in err


def test_a_run_without_a_finished_trial_has_no_outcomes(run_of, trial, capsys):
    folder = run_of("run", trial(10))
    (folder / "trials" / trial(10).trial / "verdict.json").unlink()
    assert call(["outcomes", str(folder)]) == 5
    assert has_error(capsys.readouterr().err, "no-finished-trial")


def clearly_worse(trial, **of):
    """Return eight pairs of trials of two sides, of which the second gives up a tenth more."""
    (name, values) = next(iter(of.items()))
    return [
        trial(given_up, seed=seed, **{name: value})
        for given_up, value in zip((0, 10), values, strict=True)
        for seed in range(8)
    ]


@pytest.mark.parametrize(
    ("sides", "where"),
    [
        ({"client": ("c@1", "c@2")}, "c@1 -> c@2"),
        ({"client": ("c@1", "d@1")}, "c@1 -> d@1"),
        ({"variant": ("", "slow")}, "default -> slow"),
    ],
)
def test_two_parts_of_one_run_are_compared(run_of, trial, capsys, sides, where):
    folder = run_of("run", *clearly_worse(trial, **sides))
    [names] = sides.values()
    between = ["--between", *(name or "default" for name in names)]
    assert call(["diff", str(folder), *between]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert where in lines[0] and lines[1].startswith("clearly worse: ")
    assert (
        "0% -> 10.0% (+10.0 points, 95% interval +10.0 to +10.0 points), worse in 8 of 8 pairs"
        in "\n".join(lines)
    )
    assert lines[-1] == "outcomes: 8 pairs of trials compared, 2 clear changes"
    assert call(["diff", str(folder), *between, "--strict"]) == 1
    assert call(["diff", str(folder), *between[:1], *between[:0:-1], "--strict"]) == 0
    assert capsys.readouterr().out.count("clearly better") == 2 * 1


def test_differences_of_outcomes_in_json_and_markdown(run_of, trial, capsys):
    folder = run_of("run", *clearly_worse(trial, client=("c@1", "c@2")))
    options = ["diff", str(folder), "--between", "c@1", "c@2"]
    assert call([*options, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["old"], told["new"], told["outcomes"]["pairs"]) == ("c@1", "c@2", 8)
    [row] = [each for each in told["outcomes"]["by_client"] if each["metric"] == "given_up"]
    assert (row["client"], row["worse"], row["clear"], row["difference"]) == ("c@1 -> c@2", 8, True, 0.1)
    assert call([*options, "--format", "md"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines[lines.index("## Outcomes") :] if line.startswith("|")]
    assert len(rows) == 4 and {row.count("|") for row in rows} == {8}


@pytest.mark.parametrize(
    ("between", "code"),
    [
        (None, "one-side"),
        (("c@1", "c@3"), "unknown-name"),
        (("x", "c@1"), "unknown-name"),
        (("c@1", "slow"), "unlike-sides"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(run_of, trial, capsys, between, code):
    folder = run_of("run", trial(0, client="c@1"), trial(0, client="c@2", variant="slow"))
    assert call(["diff", str(folder), *(["--between", *between] if between else [])]) == 2
    assert has_error(capsys.readouterr().err, code)


def test_outcomes_differ_where_verdicts_are_equal(run_of, trial, capsys):
    old = run_of("old", *(trial(0, seed=seed) for seed in range(6)))
    new = run_of("new", *(trial(9, seed=seed) for seed in range(6)))
    assert call(["diff", str(old), str(new)]) == 0
    out, err = capsys.readouterr()
    assert "0% -> 9.0%" in out and "same 6" in err


def test_too_few_pairs_are_said_to_be_too_few(run_of, trial, capsys):
    old, new = run_of("old", trial(0)), run_of("new", trial(9))
    assert call(["diff", str(old), str(new), "--strict"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split(":")[0] for line in lines[1:-1]} == {"perhaps worse"}
    assert lines[-1].startswith("outcomes: 1 pair of trials compared, 0 clear changes; six pairs")
