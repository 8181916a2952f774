"""kill -9 to what the harness has started: the trial says who died, the others have their verdicts, nothing is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.cli.main import call
from harness.provision.java import find_java

pytestmark = pytest.mark.jvm


#: A harness with one child and one folder, whose warden is killed before it ends in good order.
WITHOUT_WARDEN = """
import asyncio, psutil
from harness.system import processes

async def main():
    child = await processes.spawn(["sleep", "600"])
    [warden] = [each for each in psutil.Process().children() if "harness.system.warden" in each.cmdline()]
    warden.kill()
    print(child.pid, processes.scratch_dir())

asyncio.run(main())
"""


def warden_of(pid: int) -> psutil.Process:
    [warden] = [
        child for child in psutil.Process(pid).children() if "harness.system.warden" in child.cmdline()
    ]
    return warden


def test_a_toxiproxy_that_dies_costs_its_trial_and_no_other(planned):
    run = planned(2, jobs=2)
    run.start("-j", "2")
    run.under_load(0)
    run.under_load(1)
    victim = min(run.children("toxiproxy-server"), key=lambda process: process.pid)
    victim.kill()
    code, said = run.ended()

    assert code == 3
    assert sorted(run.verdicts()) == [("harness-error", "server-gone"), ("pass", "held")]
    assert f"(pid {victim.pid})" in said
    assert run.has_exports() and run.left() == []


def test_a_broker_that_dies_is_replaced_and_its_trial_is_run_once_more(planned):
    run = planned(1)
    run.start()
    run.under_load()
    run.child("kafka.Kafka").kill()
    code, said = run.ended()

    assert (code, run.verdicts()) == (0, [("pass", "held")])
    assert "reference@0.1.0; each is run" in said
    assert run.has_exports() and run.left() == []


def test_a_broker_without_memory_ends_the_run_with_its_log_and_exports(planned, tmp_path):
    """The JVM ends by ExitOnOutOfMemoryError; who starts it puts another heap in the place of ours."""
    home = tmp_path / "jvm"
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f'#!/bin/sh\nexec {find_java().path} $(echo "$@" | sed s/-Xms128m.-Xmx512m/-Xmx20m/)\n')
    java.chmod(0o755)
    run = planned(1)
    run.env["JAVA_HOME"] = str(home)
    code, said = run.carried_out()

    assert code == 3 and "OutOfMemoryError" in said
    assert run.verdicts() == [] and run.has_exports() and run.left() == []


def test_what_a_harness_without_its_warden_leaves_goes_at_its_end():
    left = subprocess.run([sys.executable, "-c", WITHOUT_WARDEN], capture_output=True, check=True, text=True)
    pid, folder = left.stdout.split()
    psutil.wait_procs([psutil.Process(int(pid))] if psutil.pid_exists(int(pid)) else [], timeout=20)
    assert not psutil.pid_exists(int(pid)) and not Path(folder).exists()


def test_what_warden_and_harness_leave_when_both_are_killed_goes_with_the_next_command(planned, capsys):
    run = planned(1)
    process = run.start()
    run.under_load()
    warden_of(process.pid).kill()
    process.kill()
    process.communicate()
    assert run.children("kafka.Kafka")

    assert call(["list", "checks"]) == 0
    capsys.readouterr()
    assert run.left() == [] and run.verdicts() == []
    assert run.carried_out()[0] == 0
    assert run.verdicts() == [("pass", "held")] and run.has_exports()
