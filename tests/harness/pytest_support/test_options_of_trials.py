"""Settings, own load and thresholds of pytest's options reach the trials and the summary, without a broker."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.long("runs pytest in a process for each test")
pytest_plugins = ["pytester"]

#: A cluster session that runs nothing: a trial passes and has given up half of its records.
CLUSTER = """
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
import pytest
from harness.model.rows import Availability, TrialVerdict
from harness.pytest_support.plugin import SESSION

class Session:
    broker, lanes, verdicts = "local:4.3.1x1", 1, []
    store = SimpleNamespace(verdicts=lambda: iter(Session.verdicts), folder=Path("runs/one"))
    def named_anew(self, spec):
        return spec
    def folder(self, spec):
        return Path("runs/one/trials") / spec.trial
    def submit(self, spec):
        half = Availability(offered=100, acked=50, failed=50)
        Session.verdicts.append(TrialVerdict(
            spec.trial, str(spec.client), spec.broker, spec.scenario, spec.guarantee, spec.seed, "pass", "held",
            availability=half,
        ))
        self.spec, future = spec, Future()
        future.set_result(Session.verdicts[-1])
        return future

@pytest.fixture(scope="session")
def kafka_cluster(request):
    session = request.config.stash[SESSION] = Session()
    return session

def pytest_collection_modifyitems(items):
    cases = [item.callspec.params["kafka_case"] for item in items if "kafka_case" in item.fixturenames]
    if cases:
        print("records of cases:", *sorted({case.workload.records for case in cases}))
"""
SENDS = """
def test_one(kafka_trial, kafka_cluster):
    kafka_trial("produce/calm")
    load = kafka_cluster.spec.workload
    print("sent:", load.records, load.load and load.load.producers, kafka_cluster.spec.config["linger.ms"])
"""
PASSES = "def test_one(kafka_trial): kafka_trial('produce/calm').must_pass()"


@pytest.fixture
def run_pytest(pytester):
    """Return a function that runs pytest on a test that uses the cluster above."""
    pytester.makepyfile(fake_cluster=CLUSTER)
    # The fixture of a conftest has precedence over that of the plugin, whatever the order of plugins.
    pytester.makeconftest("from fake_cluster import kafka_cluster")
    pytester.syspathinsert()

    def run(source, *args):
        paths = [pytester.makepyfile(source)] if source else ["--pyargs", "kafka_trial.live"]
        return pytester.runpytest_subprocess(
            "-p", "fake_cluster", "-p", "no:cacheprovider", "-s", *paths, *args
        )

    return run


def test_options_choose_load_and_settings(run_pytest):
    result = run_pytest(SENDS, "--kafka-load", "records=90,producers=3", "--kafka-setting", "linger.ms=21")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*sent: 90 3 21*"])


def test_the_ini_file_and_the_environment_choose_the_load(run_pytest, pytester, monkeypatch):
    pytester.makeini("[pytest]\nkafka_load = records=80")
    run_pytest(SENDS).stdout.fnmatch_lines(["*sent: 80 1 *"])
    monkeypatch.setenv("KAFKA_TRIAL_LOAD", "records=70")
    run_pytest(SENDS).stdout.fnmatch_lines(["*sent: 70 1 *"])


def test_the_live_suites_have_the_load_in_every_case(run_pytest):
    chosen = ("--kafka-scenario", "produce/*", "--kafka-load", "records=2000", "--collect-only", "-q")
    run_pytest("", *chosen).stdout.fnmatch_lines(["records of cases: 2000"])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--kafka-load", "recordz=1"), "*unknown-name*'recordz'*'records'*"),
        (("--kafka-threshold", "given_op < 1%"), "*unknown-name*'given_op'*'given_up'*"),
    ],
)
def test_an_invalid_option_is_one_sentence(run_pytest, option, said):
    result = run_pytest(PASSES, *option)
    assert result.ret != pytest.ExitCode.OK
    lines = [*result.outlines, *result.errlines]
    pytest.LineMatcher(lines).fnmatch_lines([said])
    assert not any("Traceback" in line for line in lines)


def test_a_missed_threshold_fails_the_test_and_stands_in_the_summary(run_pytest):
    demanded = ("--kafka-threshold", "given_up < 1%", "--kafka-threshold", "acknowledged > 1%")
    result = run_pytest(PASSES, *demanded)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "kafka-trial: threshold missed: given_up < 1%: reference@* produce/calm*: it is 50.0%",
            "kafka-trial: thresholds: 1 of 2 met",
            "kafka-trial: evidence in runs/one; *",
        ]
    )


def test_without_thresholds_the_summary_has_none(run_pytest):
    result = run_pytest(PASSES)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("kafka-trial: threshold*")
