"""The wheel without extras, installed in an environment outside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.provision.python_env import find_uv

pytestmark = [pytest.mark.jvm, pytest.mark.long("builds and installs a wheel")]

EXTRAS = {"hypothesis", "jinja2", "plotly", "polars", "pyarrow", "pyspark", "scapy"}
NO_REPORT = (
    "error[extra-not-usable]: report needs the extra 'report' "
    "(not installed: jinja2, plotly, polars, pyarrow, pyspark): "
    "pip install 'kafka-trial[report]'",
    "hint: kafka-trial doctor shows the extras",
)
CALM = """
def test_nothing_is_lost(kafka_trial):
    kafka_trial("produce/calm", guarantee="idempotent").must_pass()
"""
DISSECTS = "from kafka_trial.capture import dissected\n"


def test_no_package_of_an_extra_is_installed(installed):
    packages = installed.must(str(find_uv()), "pip", "list", "--python", str(installed.bin / "python"))
    names = {line.split()[0] for line in packages.splitlines()}
    assert "kafka-trial" in names
    assert names & EXTRAS == set()


def test_trial_works_and_report_names_the_missing_extra(installed):
    installed.must("kafka-trial", "run", "produce/calm", "-c", "reference", "-g", "idempotent", "--capture")
    installed.must("kafka-trial", "judge", "runs")
    run = str(Path("runs") / (installed.folder / "runs" / "latest").read_text().strip())
    installed.must("kafka-trial", "diff", run, run)
    ended = installed.run("kafka-trial", "report", run)
    assert (ended.returncode, ended.stdout, tuple(ended.stderr.splitlines())) == (3, "", NO_REPORT)


def test_pytest_plugin_works_and_names_a_missing_extra(installed):
    (installed.folder / "test_calm.py").write_text(CALM)
    assert "1 passed" in installed.must("pytest", "-q", "test_calm.py")
    (installed.folder / "test_dissects.py").write_text(DISSECTS)
    ended = installed.run("pytest", "-q", "test_dissects.py")
    said = "needs the extra 'capture' (not installed: scapy): pip install 'kafka-trial[capture]'"
    assert ended.returncode == 2
    assert f"kafka_trial.harness.capture.layers {said}" in ended.stdout.splitlines()


@pytest.mark.parametrize(
    "argv", [["--help"], ["list", "scenarios"], ["explain", "lost"], ["report", "--help"]]
)
def test_informational_commands_need_no_extra(installed, argv):
    assert installed.must("kafka-trial", *argv)


def test_doctor_lists_extras_and_requires_none_for_a_run(installed):
    told = installed.must("kafka-trial", "doctor").splitlines()
    for extra in ("capture", "properties", "report"):
        at = next(n for n, line in enumerate(told) if f"missing extra {extra}: not installed: " in line)
        assert told[at + 1] == f"    fix: pip install 'kafka-trial[{extra}]'"
