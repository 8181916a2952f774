"""The generated workflow, run here step by step from a wheel, in a project with its own ``clients`` and ``reports``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from harness.provision.caches import cache_path
from testkit.workflow import Ran, Server, instances, loaded

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.extended,
    pytest.mark.long("builds a wheel, installs it twice with pip, runs trials and makes a report"),
]

ROOT = Path(__file__).parents[2]
WORKFLOW = Path(".github/workflows/kafka-trial.yml")


def locked() -> str:
    """Return the versions of the lock as constraints for pip."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return "\n".join(line.rstrip("\\ ") for line in lines if line[:1].isalnum())


@pytest.fixture(scope="module")
def server(installed, tmp_path_factory) -> Server:
    """Return a server whose project has the wheel, packages with our names, and the workflow."""
    folder = tmp_path_factory.mktemp("ci")
    project = folder / "project"
    for name in ("clients", "reports"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text("raise RuntimeError('the package of the user')\n")
    (project / "dist").mkdir()
    shutil.copy(installed.wheel, project / "dist")
    asked = ["--client", "reference", "--scenario", "produce/calm", "--scenario", "produce/dropped-response"]
    source = f"dist/{Path(installed.wheel).name}"
    made = installed.run(
        "kafka-trial", "init", "ci", *asked, "--shards", "2", "--install-from", source, cwd=project
    )
    assert made.returncode == 0, made
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    (folder / "constraints.txt").write_text(locked())
    (folder / "jobs").mkdir()
    known = ("PIP_", "SSL_", "HTTP", "http", "no_proxy", "NO_PROXY", "JAVA_HOME", "LANG", "UV_")
    env = {name: value for name, value in os.environ.items() if name.startswith(known)}
    env |= {
        "PATH": os.pathsep.join([str(folder / "venv" / "bin"), os.environ["PATH"]]),
        "PIP_CONSTRAINT": str(folder / "constraints.txt"),
        # Compiling thousands of modules takes longer than the steps, which import few of them.
        "PIP_NO_COMPILE": "1",
        "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip")),
        "CI": "true",
        "GITHUB_ACTIONS": "true",
    }
    return Server(project, folder / "jobs", env, cache_path())


@pytest.fixture(scope="module")
def jobs(server) -> dict[str, Any]:
    """Return the jobs of the workflow."""
    jobs: dict[str, Any] = loaded((server.project / WORKFLOW).read_text())["jobs"]
    return jobs


@pytest.fixture(scope="module")
def ran(server, jobs) -> dict[str, list[Ran]]:
    """Return the steps of every job, in the order in which GitHub starts the jobs."""
    return {
        f"{name} {values}": server.run(job, values) for name, job in jobs.items() for values in instances(job)
    }


def test_every_step_of_every_job_succeeds(ran):
    assert list(ran) == [
        "trials {'matrix.shard': '1'}",
        "trials {'matrix.shard': '2'}",
        "report {}",
    ]
    failed = [(job, each) for job, steps in ran.items() for each in steps if each.code]
    assert failed == []
    assert {each.name for each in ran["report {}"]} == {
        "Use the cache",
        "Install",
        "Merge",
        "Summary",
        "Report",
    }


def test_the_artifacts_have_the_evidence_the_report_and_junit(server, ran):
    assert set(server.artifacts) == {"kafka-trial-shard-1", "kafka-trial-shard-2", "kafka-trial-report"}
    published = server.artifacts["kafka-trial-report"]
    assert (published / "report" / "index.html").is_file()
    cases = list(ET.parse(published / "kafka-trial.xml").getroot().iter("testcase"))
    assert len(cases) == 4 and all(case.get("classname", "").startswith("reference@") for case in cases)
    assert len(list((published / "runs" / "merged" / "trials").iterdir())) == 4


def test_the_summary_of_the_job_has_all_trials(server, ran):
    assert "4 of 4 planned trials" in server.summary and "produce/dropped-response" in server.summary


def test_a_shard_without_a_run_is_named_and_fails_the_report(server, jobs, ran):
    kept, server.summary = dict(server.artifacts), ""
    del server.artifacts["kafka-trial-shard-2"]
    try:
        steps = {each.name: each for each in server.run(jobs["report"], {})}
    finally:
        server.artifacts = kept
    assert steps["Merge"].code == 4 and steps["Report"].code == 0
    assert "shard 2 is missing" in server.summary
