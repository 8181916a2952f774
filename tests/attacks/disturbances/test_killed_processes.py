"""SIGKILL to processes of the harness: the error names the process, and other trials keep their verdicts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.cli.main import call
from harness.provision.java import find_java

pytestmark = pytest.mark.jvm


#: A harness with one child and one scratch folder, which exits normally after its warden was killed.
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


def test_killed_toxiproxy_affects_only_its_own_trial(planned):
    run = planned(2, jobs=2)
    run.start("-j", "2")
    run.under_load(0)
    run.under_load(1)
    victim = min(run.children("toxiproxy-server"), key=lambda process: process.pid)
    victim.kill()
    code, stderr = run.ended()

    assert code == 3
    assert sorted(run.verdicts()) == [("harness-error", "server-gone"), ("pass", "held")]
    assert f"(pid {victim.pid})" in stderr
    assert run.has_exports() and run.remaining() == []


def test_killed_broker_is_replaced_and_its_trial_rerun(planned):
    run = planned(1)
    run.start()
    run.under_load()
    run.child("kafka.Kafka").kill()
    code, stderr = run.ended()

    assert (code, run.verdicts()) == (0, [("pass", "held")])
    assert re.search(r"\bdied\b.*\breference@0\.1\.0\b", stderr)
    assert run.has_exports() and run.remaining() == []


def with_heap(folder: Path, mib: int) -> dict[str, str]:
    """Return the environment in which brokers have another heap size than the harness sets."""
    java = folder / "jvm" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f'#!/bin/sh\nexec {find_java().path} $(echo "$@" | sed s/-Xms128m.-Xmx512m/-Xmx{mib}m/)\n'
    )
    java.chmod(0o755)
    return {"JAVA_HOME": str(folder / "jvm")}


def test_broker_out_of_memory_ends_run_with_its_log_and_exports(planned, tmp_path):
    """ExitOnOutOfMemoryError ends the JVM."""
    run = planned(1)
    run.env |= with_heap(tmp_path, 20)
    code, stderr = run.execute()

    assert code == 3 and "OutOfMemoryError" in stderr
    assert run.verdicts() == [] and run.has_exports() and run.remaining() == []


@pytest.mark.extended
def test_client_whose_broker_runs_out_of_memory_again_is_left_out(planned, tmp_path):
    """What a client may announce fits into the usual heap, and not into a small one."""
    run = planned(2, hostile="announces_as_much_as_it_may")
    run.env |= with_heap(tmp_path, 100)
    code, stderr = run.execute("--allow-command")

    assert code == 3 and "OutOfMemoryError" in stderr
    assert run.verdicts() == [("pass", "held"), ("harness-error", "broker-died"), ("pass", "held")]
    assert run.has_exports() and run.remaining() == []


def test_run_whose_warden_was_killed_goes_on_and_cleans_up(planned):
    run = planned(1)
    process = run.start()
    run.under_load()
    warden_of(process.pid).kill()
    code, _ = run.ended()

    assert (code, run.verdicts()) == (0, [("pass", "held")])
    assert run.has_exports() and run.remaining() == []


def test_harness_whose_warden_was_killed_cleans_up_at_exit():
    left = subprocess.run([sys.executable, "-c", WITHOUT_WARDEN], capture_output=True, check=True, text=True)
    pid, folder = left.stdout.split()
    psutil.wait_procs([psutil.Process(int(pid))] if psutil.pid_exists(int(pid)) else [], timeout=20)
    assert not psutil.pid_exists(int(pid)) and not Path(folder).exists()


def test_next_command_cleans_up_after_killed_harness_and_warden(planned, capsys):
    run = planned(1)
    process = run.start()
    run.under_load()
    warden_of(process.pid).kill()
    process.kill()
    process.communicate()
    assert run.children("kafka.Kafka")

    assert call(["list", "checks"]) == 0
    capsys.readouterr()
    assert run.remaining() == [] and run.verdicts() == []
    assert run.execute()[0] == 0
    assert run.verdicts() == [("pass", "held")] and run.has_exports()
