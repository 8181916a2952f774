"""The pytest plugin without a broker: no output unless it is used, and one error for wrong options."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from harness.model.rows import Finding, RequirementVerdict, TrialVerdict
from harness.pytest_support.fixtures import TrialInconclusive, TrialResult

pytestmark = pytest.mark.long("runs pytest in a process for each test")
pytest_plugins = ["pytester"]

PLAIN = "def test_one(): pass"
ASKS = "def test_one(kafka_client): assert str(kafka_client)"


def run(pytester, source, *args):
    pytester.makepyfile(source)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)


def test_the_plugin_is_silent_unless_it_is_used(pytester):
    result = run(pytester, PLAIN)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("kafka-trial:*")
    assert not (pytester.path / "runs").exists()


LOADED = """
import sys, harness.pytest_support.plugin
print([name for name in sys.modules if name.startswith(("harness.", "kio", "pyspark"))])
"""


def test_importing_the_plugin_does_not_import_the_harness():
    said = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "['harness.pytest_support', 'harness.pytest_support.plugin']"


def test_a_test_has_one_item_per_client(pytester):
    result = run(
        pytester, ASKS, "--kafka-client", "reference", "--kafka-client", "confluent-kafka@2.3.0", "-v"
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["kafka-trial: reference@*, confluent-kafka@2.3.0 on local:*, seed 1"])
    result.stdout.fnmatch_lines(["*test_one[[]reference@*", "*test_one[[]confluent-kafka@2.3.0*"])


def test_clients_come_from_the_ini_file_and_the_environment(pytester, monkeypatch):
    pytester.makeini("[pytest]\nkafka_clients = confluent-kafka@2.3.0")
    run(pytester, ASKS, "-v").stdout.fnmatch_lines(["*test_one[[]confluent-kafka@2.3.0*"])
    monkeypatch.setenv("KAFKA_TRIAL_CLIENTS", "reference")
    run(pytester, ASKS, "-v").stdout.fnmatch_lines(["*test_one[[]reference@*"])


def test_an_unknown_client_is_a_usage_error(pytester):
    result = run(pytester, ASKS, "--kafka-client", "refrence")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unknown client 'refrence'; did you mean 'reference'?"])


def test_a_missing_extra_of_a_test_module_is_one_error(pytester):
    pytester.makeconftest("from harness.system import extras\nextras.DISTRIBUTION = 'pytester'")
    info = pytester.mkdir("pytester-1.dist-info") / "METADATA"
    info.write_text("Name: pytester\nVersion: 1\nRequires-Dist: trial_gone; extra == 'report'\n")
    pytester.syspathinsert()
    asks = (
        "from harness.system import extras\nwith extras.needed('report', 'this file'):\n    import trial_gone"
    )
    result = run(pytester, asks)
    result.assert_outcomes(errors=1)
    wanted = "this file needs the extra 'report' (not installed: trial_gone): pip install 'pytester[report]'"
    assert wanted in result.outlines
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*EnvironmentProblem*")


def test_the_plugin_can_be_disabled(pytester):
    result = run(pytester, ASKS, "-p", "no:kafka-trial")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'kafka_client' not found*"])


def test_marks_are_registered(pytester):
    marked = "import pytest\n@pytest.mark.must\n@pytest.mark.requirement(id='X-1')\ndef test_one(): pass"
    run(pytester, marked, "--strict-markers", "-m", "must").assert_outcomes(passed=1)


def test_the_live_suite_has_one_item_per_scenario_guarantee_and_client(pytester):
    options = (
        "--kafka-client",
        "confluent-kafka@2.3.0",
        "--kafka-scenario",
        "produce/*",
        "--collect-only",
        "-q",
    )
    live = ("-p", "no:cacheprovider", "--pyargs", "kafka_trial.live", *options)
    result = pytester.runpytest_subprocess(*live)
    result.stdout.fnmatch_lines(["*test_scenario[[]produce/disconnect-idempotent-confluent-kafka@2.3.0-s1]"])
    only = pytester.runpytest_subprocess(
        *live, "-m", "guarantee(name='idempotent') and fault(kind='dropped_response')"
    )
    items = [line.partition("[")[2] for line in only.outlines if "::" in line]
    assert items == ["produce/dropped-response-idempotent-confluent-kafka@2.3.0-s1]"]


BREAKS = """
from harness.pytest_support.fixtures import TrialFailed
def test_one():
    raise TrialFailed("fail: s\\n  expected: one\\nreplay: kafka-trial replay x", "fail: s: two records")
"""


def test_a_report_is_printed_once_even_with_full_summaries_in_ci(pytester, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = run(pytester, BREAKS, "--junit-xml", "out.xml")
    assert [line for line in result.outlines if "replay" in line] == ["replay: kafka-trial replay x"]
    result.stdout.fnmatch_lines(["FAILED *::test_one - fail: s: two records"])
    [failure] = ET.parse(pytester.path / "out.xml").iter("failure")
    assert failure.get("message") == "fail: s: two records"
    assert "expected: one" in failure.text


class Reported(TrialResult):
    def report(self):
        return "the report"


def tried(verdict, strict=False):
    finding = Finding("lost", "1 record lost")
    requirement = RequirementVerdict("X-1", "MUST", verdict, (finding,) if verdict == "fail" else ())
    said = TrialVerdict("t", "c@1", "b:1", "s", "idempotent", 1, verdict, "a reason", (requirement,))
    return Reported(said, None, None, strict)


def test_verdicts_without_evidence_are_errors():
    for verdict in ("harness-error", "inconclusive", "not-exercised"):
        with pytest.raises(TrialInconclusive, match="a reason"):
            tried(verdict).must_pass()


def test_each_verdict_has_its_pytest_outcome():
    tried("pass").must_pass()
    for verdict in ("fail", "unexpected-pass"):
        with pytest.raises(pytest.fail.Exception, match="the report"):
            tried(verdict).must_pass()
    with pytest.raises(pytest.skip.Exception, match="a reason"):
        tried("unsupported").must_pass()
    with pytest.raises(pytest.xfail.Exception):
        tried("expected-fail").must_pass()


def test_a_difference_fails_only_with_strict():
    tried("differs").must_pass()
    assert tried("differs").passed and not tried("differs", strict=True).passed
    tried("pass", strict=True).must_pass()
    with pytest.raises(pytest.fail.Exception, match="the report"):
        tried("differs", strict=True).must_pass()
