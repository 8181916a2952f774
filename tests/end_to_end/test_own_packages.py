"""The wheel in a project that has packages called ``clients``, ``reports`` and so on: neither affects the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.jvm, pytest.mark.long("builds and installs a wheel, and starts brokers")]

NAMES = ("harness", "clients", "faults", "suites", "reports")
#: A test that imports the user's packages before and after a trial has run.
TESTS = """
import {first}

def test_the_trial_and_the_projects_packages(kafka_trial):
    import clients
    assert clients.OWNER == "user"
    kafka_trial("produce/calm", guarantee="idempotent").must_pass()
    import harness, faults, suites, reports.monthly
    assert {{each.OWNER for each in (harness, clients, faults, suites, reports, reports.monthly)}} == {{"user"}}
"""
FOUND = (
    "import clients, kafka_trial.harness.api, sys; print(clients.__file__); print('harness' in sys.modules)"
)


@pytest.fixture(scope="module")
def project(installed) -> Path:
    """Return a project with a package of each of our names."""
    folder = installed.folder / "project"
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("OWNER = 'user'\n")
    (folder / "reports" / "monthly.py").write_text("OWNER = 'user'\n")
    (folder / "conftest.py").write_text("import reports\n")
    return folder


@pytest.mark.parametrize("first", ["clients", pytest.param("kafka_trial.api", marks=pytest.mark.extended)])
@pytest.mark.parametrize(
    "command",
    [pytest.param(["python", "-m", "pytest"], marks=pytest.mark.extended), ["pytest"]],
    ids=" ".join,
)
def test_a_pytest_project_keeps_its_packages_and_runs_trials(installed, project, command, first):
    test = project / "test_trials.py"
    test.write_text(TESTS.format(first=first))
    ended = installed.run(*command, "-q", "-p", "no:cacheprovider", "test_trials.py", cwd=project)
    assert (ended.returncode, "1 passed" in ended.stdout) == (0, True), ended


@pytest.mark.parametrize(
    "command",
    [["kafka-trial"], pytest.param(["python", "-m", "kafka_trial"], marks=pytest.mark.extended)],
    ids=" ".join,
)
def test_the_command_line_runs_in_a_folder_with_such_packages(installed, project, command):
    ended = installed.run(*command, "run", "produce/calm", "-c", "reference", "--json", cwd=project)
    assert ended.returncode == 0, ended
    assert {each["verdict"] for each in json.loads(ended.stdout)["verdicts"]} == {"pass"}
    simulated = installed.run(
        *command, "simulate", "--scenario", "produce/calm", "--trials", "1", cwd=project
    )
    assert simulated.returncode == 0, simulated


@pytest.mark.parametrize("command", [["--help"], ["report", "--help"], ["explain", "package-hidden"]])
def test_what_only_tells_works_there(installed, project, command):
    assert installed.run("python", "-m", "kafka_trial", *command, cwd=project).returncode == 0


def test_the_live_suites_have_one_name_in_the_wheel_and_in_the_repository(installed, project):
    ended = installed.run(
        "python", "-m", "pytest", "--pyargs", "kafka_trial.live", "--collect-only", "-q", cwd=project
    )
    assert ended.returncode == 0 and "produce/calm-idempotent" in ended.stdout, ended


def test_the_wheel_has_one_package_at_the_top(installed, project):
    ended = installed.run("python", "-c", FOUND, cwd=project)
    assert ended.stdout.split() == [str(project / "clients" / "__init__.py"), "False"]
