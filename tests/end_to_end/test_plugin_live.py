"""The pytest plugin with real brokers: a user's tests, the message of a failure, and two processes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from contextlib import suppress

import psutil
import pytest

from harness.provision import caches

pytestmark = [pytest.mark.jvm, pytest.mark.long("runs pytest in a process for each test, with brokers")]
pytest_plugins = ["pytester"]

THREE = """
def test_answers_are_lost_and_records_are_not(kafka_trial):
    kafka_trial("produce/dropped-response", guarantee="idempotent").must_pass()

def test_a_lane_is_mine(kafka_lane):
    import socket
    topic = kafka_lane.topic(partitions=2)
    host, port = kafka_lane.bootstrap.split(":")
    with kafka_lane.fault("refuse"):
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            raise SystemExit("nobody refused")
        except ConnectionRefusedError:
            pass
    socket.create_connection((host, int(port)), timeout=5).close()
    assert kafka_lane.log(topic) == []

def test_calm(kafka_trial):
    tried = kafka_trial("produce/calm", guarantee="at-least-once")
    assert tried.passed and tried.verdict.counts["lost"] == 0
"""


CACHE = str(caches.cache_path())


@pytest.fixture(autouse=True)
def cache(monkeypatch):
    """Keep the cache, because pytester sets another home folder, in which everything would be downloaded again."""
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", CACHE)


@pytest.fixture
def run_pytest(pytester):
    """Return a function that runs pytest on a user's file."""
    pytester.makepyfile(THREE)
    return lambda *args: pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)


@pytest.mark.extended
def test_conforming_client_passes_in_two_processes(run_pytest):
    run_pytest("-n", "2", "--kafka-client", "confluent-kafka@2.16.1").assert_outcomes(passed=3)


def test_failure_shows_expected_observed_and_how_to_rerun(run_pytest, pytester):
    result = run_pytest("--kafka-client", "mutant-retries_with_new_sequence", "--junit-xml", "out.xml")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "fail: produce/dropped-response idempotent, mutant-retries_with_new_sequence@*",
            "MUST *",
            "  expected: *",
            "  observed: duplicate: *",
            "active faults (ms of load):",
            "  dropped_response: *, touched *",
            "wire, *",
            "evidence: runs/*",
            "replay: kafka-trial replay runs/*",
        ]
    )
    [replay] = [line for line in result.outlines if line.startswith("replay: ")]
    assert (pytester.path / replay.split()[-1] / "verdict.json").exists()
    [suite] = ET.parse(pytester.path / "out.xml").iter("testsuite")
    assert {each.get("name"): each.get("value") for each in suite.iter("property")}["kafka-trial.seed"] == "1"
    [failure] = suite.iter("failure")
    assert "expected: " in failure.text and "replay: kafka-trial replay" in failure.text


def test_interrupted_test_leaves_nothing(pytester):
    pytester.makepyfile("def test_one(kafka_lane):\n    kafka_lane.topic()\n    raise KeyboardInterrupt\n")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    [run] = (pytester.path / "runs").glob("2*")
    assert '"stop_reason": "interrupted"' in (run / "run.json").read_text()
    left = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # folders of other processes, which change at any time
            if "kafka" in " ".join(process.cmdline()) and str(pytester.path) in process.environ().get(
                "PWD", ""
            ):
                left.append(process)
    assert not left
