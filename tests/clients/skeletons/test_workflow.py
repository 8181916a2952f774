"""The workflow of ``init ci``: valid for GitHub, as the user chose, and refused where it could not run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clients.skeletons.install_source import installs
from clients.skeletons.workflow import Choices, checked, workflow
from harness.cli.main import call
from harness.model.errors import UsageError
from testkit.codes import has_error, raises_code
from testkit.workflow import filled, instances, loaded

FILE = Path(".github/workflows/kafka-trial.yml")
#: The keys that GitHub's workflow syntax has in each place, of those that we may use.
JOB = {"runs-on", "timeout-minutes", "strategy", "steps", "needs", "if"}
STEP = {"name", "uses", "with", "run", "if", "env", "continue-on-error"}
#: The inputs of each action that we use, by the version that we name.
INPUTS = {
    "actions/checkout@v4": set(),
    "actions/setup-python@v5": {"python-version"},
    "actions/setup-java@v4": {"distribution", "java-version"},
    "actions/cache@v4": {"path", "key", "restore-keys"},
    "actions/upload-artifact@v4": {"name", "path"},
    "actions/download-artifact@v4": {"pattern", "path"},
}
VALUES = {
    "matrix.shard": "1",
    "runner.os": "Linux",
    "github.token": "t",
    "github.event.pull_request.number": "1",
    "!cancelled()": "true",
    "!cancelled() && github.event_name == 'pull_request'": "true",
}
EVERY = Choices(
    ("reference", "kafkajs@2.2.4"), ("produce/*",), ("./a b", "$x"), "make", 3, "known", None, True
)


@pytest.fixture(autouse=True)
def project(monkeypatch, tmp_path) -> Path:
    """Return an empty project, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(value: object) -> list[str]:
    """Return all texts below a value of the workflow."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("choices", [Choices(("reference",)), EVERY], ids=["few", "every"])
def test_it_is_what_github_accepts(choices):
    made = loaded(workflow(choices).decode())
    # YAML reads the key ``on`` as true.
    assert set(made) == {"name", True, "permissions", "jobs"}
    assert set(made[True]) == {"push", "pull_request", "workflow_dispatch"}
    for name, job in made["jobs"].items():
        assert set(job) <= JOB and {"runs-on", "timeout-minutes", "steps"} <= set(job), name
        assert job.get("needs", name) in made["jobs"]
        for step in job["steps"]:
            assert set(step) <= STEP and ("uses" in step) != ("run" in step), step
            if "uses" in step:
                assert set(step.get("with", {})) <= INPUTS[step["uses"]], step
    assert all(filled(text, VALUES) for text in texts(made))


@pytest.mark.parametrize("choices", [Choices(("reference",)), EVERY], ids=["few", "every"])
def test_bash_can_read_every_step(choices):
    for job in loaded(workflow(choices).decode())["jobs"].values():
        for step in job["steps"]:
            script = filled(step.get("run", ""), VALUES)
            assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0, (
                script
            )


def command_of(choices: Choices, name: str = "Trials") -> list[str]:
    """Return the words of the command in a step of the first job."""
    steps = loaded(workflow(choices).decode())["jobs"]["trials"]["steps"]
    [step] = [step for step in steps if step.get("name") == name]
    return shlex.split(filled(step["run"], VALUES))


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"], exclude_characters="\x85"), min_size=1))
@example("'; rm -rf / #")
@example('$(id)`id`"\\')
def test_a_word_of_the_user_is_one_word_of_the_shell(word):
    words = command_of(Choices((), ("produce/calm",), ("./adapter", word)))
    assert words[words.index("--") :] == ["--", "./adapter", word]


def test_the_choices_stand_in_the_commands():
    words = command_of(EVERY)
    assert words[:3] == ["kafka-trial", "run", "produce/*"]
    assert words[3:9] == ["-c", "reference", "-c", "kafkajs@2.2.4", "--baseline", "known"]
    assert words[words.index("--shard") + 1] == "1/3"
    assert command_of(EVERY, "Build the client") == ["make"]
    made = loaded(workflow(EVERY).decode())
    assert [each["matrix.shard"] for each in instances(made["jobs"]["trials"])] == ["1", "2", "3"]
    assert made["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "Comment" in {step.get("name") for step in made["jobs"]["report"]["steps"]}


def test_the_trials_that_it_names_make_a_plan(capsys):
    assert call(["init", "ci"]) == 0
    [run] = re.findall(r"^ +kafka-trial (run .*)", FILE.read_text(), re.MULTILINE)
    assert call([*shlex.split(filled(run, VALUES)), "--dry-run", "--json"]) == 0


def test_what_is_published_is_neither_more_nor_a_comment_unless_asked():
    made = loaded(workflow(Choices(("reference",))).decode())
    assert made["permissions"] == {"contents": "read"}
    assert "gh pr comment" not in workflow(Choices(("reference",))).decode()


def test_the_file_is_replaced_only_by_force(capsys):
    FILE.parent.mkdir(parents=True)
    FILE.write_text("mine")
    assert call(["init", "ci"]) == 2
    assert has_error(capsys.readouterr().err, "file-exists") and FILE.read_text() == "mine"
    assert call(["init", "ci", "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [str(FILE)]
    assert "shard: [1]" in FILE.read_text()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--client", "conflunt-kafka"], ("unknown-name", "'confluent-kafka'")),
        (["--scenario", "produce/clam"], ("unknown-name", "'produce/calm'")),
        (["--scenario", "produce/calm", "--shards", "9"], ("too-many-shards", 9)),
        (["--shards", "257"], ("bad-parameter",)),
        (["--baseline", "nope.toml"], ("no-known-failures", "nope.toml")),
        (["--baseline", "/nope.toml"], ("baseline-outside",)),
        (["--command", "'"], ("command-not-quoted",)),
        (["--command", " "], ("command-empty",)),
        (["--command", "./a '${{ secrets.X }}'"], ("not-for-workflow",)),
        (["--build", "make\nrm"], ("not-for-workflow",)),
        (["--install-from", "kafka-trail"], ("unknown-name", "'kafka-trial'")),
    ],
)
def test_what_could_not_run_is_refused_and_nothing_is_written(words, error, capsys):
    assert call(["init", "ci", *words]) == 2
    assert has_error(capsys.readouterr().err, *error) and not FILE.exists()


@pytest.mark.parametrize(
    ("source", "installed"),
    [
        ("kafka-trial==0.1.0", "kafka-trial[report]==0.1.0"),
        ("kafka-trial", "kafka-trial[report]"),
        ("dist/t-1.whl", "./dist/t-1.whl[report]"),
        (".", "./.[report]"),
        ("tools", "./tools[report]"),
        ("https://host/team/kafka-trial.git", "kafka-trial[report] @ git+https://host/team/kafka-trial.git"),
        ("git+ssh://git@host/t.git@v1", "kafka-trial[report] @ git+ssh://git@host/t.git@v1"),
        ("git@host:team/t.git", "kafka-trial[report] @ git+ssh://git@host/team/t.git"),
        ("https://host/t-1.whl", "kafka-trial[report] @ https://host/t-1.whl"),
    ],
)
def test_a_source_becomes_an_argument_of_pip(source, installed, project):
    for folder in (project, project / "tools"):
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").touch()
    (project / "dist").mkdir()
    (project / "dist" / "t-1.whl").touch()
    assert installs(source, project)("[report]") == installed


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("https://user:secret@host/t.git", "install-source-secret"),
        ("ftp://host/t.git", "install-source-not-usable"),
        ("https://host", "install-source-not-usable"),
        ("/dist/t.whl", "install-source-outside"),
        ("../t", "install-source-outside"),
        ("dist/t.whl", "unknown-name"),
        ("empty", "install-source-not-usable"),
        ("requests", "unknown-name"),
        ("two words", "install-source-not-usable"),
    ],
)
def test_a_source_that_a_checkout_does_not_have_is_refused(source, code, project):
    (project / "empty").mkdir()
    with raises_code(UsageError, code):
        installs(source, project)


def test_a_baseline_of_the_project_is_taken(project):
    (project / "known.toml").write_text("")
    assert checked(Choices(("reference",), ("produce/calm",), baseline="known.toml")).baseline == "known.toml"
