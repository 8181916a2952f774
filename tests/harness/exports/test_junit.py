"""The JUnit export is valid by the schemas of Jenkins' xUnit plugin and of Maven Surefire.

Both schemas are reproduced here as tables of elements and attributes, from ``junit-10.xsd`` of
``jenkinsci/xunit-plugin`` (8c515de, 2025) and ``surefire-test-report.xsd`` of ``apache/maven-surefire`` (be93038,
2026; where an earlier version was stricter, that one). Surefire has no root for several suites, so that each suite
is validated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.exports.junit import ELEMENTS, junit
from harness.judging.fingerprint import causes
from harness.model.rows import TrialVerdict
from harness.model.spec import Plan
from harness.model.verdicts import Verdict
from harness.storage.run_store import LeftOut, RunRecord

RECORD = RunRecord("run-1", "2026-03-01T10:20:30Z", Plan(7, ()), 1, {}, ["kafka-trial", "run"])
TIME = re.compile(r"\d+(\.\d{0,3})?")


class Element(NamedTuple):
    """The children (a pattern of their names, each followed by a space), attributes and text of an element."""

    children: str = ""
    required: str = ""
    optional: str = ""
    text: bool = False


RERUN = Element("(stackTrace )?(system-out )?(system-err )?", "type", "message", text=True)
TOLD = Element("", "", "type message", text=True)
SAID = Element(text=True)
RESULTS = "skipped|error|failure|rerunFailure|rerunError|flakyFailure|flakyError|system-out|system-err"
JENKINS = {
    "testsuites": Element("(testsuite )*", "", "name time tests failures errors"),
    "testsuite": Element(
        "((testsuite|properties|testcase|system-out|system-err) )*",
        "name tests failures errors",
        "group time skipped timestamp hostname id package file log url version",
    ),
    "properties": Element("(property )*"),
    "property": Element("", "name value"),
    "testcase": Element(f"(({RESULTS}) )*", "name", "time classname group"),
    **dict.fromkeys(["skipped", "error", "failure"], TOLD),
    **dict.fromkeys(["rerunFailure", "rerunError", "flakyFailure", "flakyError"], RERUN),
    **dict.fromkeys(["stackTrace", "system-out", "system-err"], SAID),
}
SUREFIRE = JENKINS | {
    "testsuite": Element(
        "(properties )?(testcase )*",
        "name tests errors skipped failures",
        "time version timestamp flakes group",
    ),
    "testcase": Element(
        "(failure )*(rerunFailure )*(flakyFailure )*(skipped )?(error )?(rerunError )*(flakyError )*"
        "(system-out )?(system-err )?",
        "name time",
        "classname group timestamp",
    ),
    "skipped": Element("", "", "message", text=True),
    **dict.fromkeys(["error", "failure"], Element("", "type", "message", text=True)),
    **dict.fromkeys(
        ["rerunFailure", "rerunError", "flakyFailure", "flakyError"],
        Element("stackTrace (system-out )?(system-err )?", "type", "message"),
    ),
}


def breaches(element: ET.Element, schema: Mapping[str, Element]) -> list[str]:
    """Return how ``element`` and its descendants violate the schema."""
    allowed, tag = schema[element.tag], element.tag
    found = []
    if not re.fullmatch(allowed.children, "".join(f"{child.tag} " for child in element)):
        found.append(f"{tag} holds {[child.tag for child in element]}")
    required, optional = set(allowed.required.split()), set(allowed.optional.split())
    if not required <= element.attrib.keys() <= required | optional:
        found.append(f"{tag} has {sorted(element.attrib)}")
    if "time" in element.attrib and not TIME.fullmatch(element.attrib["time"]):
        found.append(f"{tag} took {element.attrib['time']!r}")
    texts = [element.text, *(child.tail for child in element)]
    if not allowed.text and any((text or "").strip() for text in texts):
        found.append(f"{tag} has text")
    return [
        *found,
        *(breach for child in element if child.tag in schema for breach in breaches(child, schema)),
    ]


def written(
    *verdicts: TrialVerdict, seconds: Mapping[str, float] | None = None, thresholds: tuple[str, ...] = ()
) -> ET.Element:
    """Return the exported document after validating it by both schemas."""
    record = replace(RECORD, thresholds=thresholds)
    root = ET.fromstring(junit(record, verdicts, Path("runs/run-1"), seconds or {}))
    assert breaches(root, JENKINS) == []
    assert [breach for suite in root for breach in breaches(suite, SUREFIRE)] == []
    return root


@given(st.text(), st.text())
def test_a_client_that_was_left_out_is_an_error_with_the_reason(verdict, client, reason) -> None:
    left_out = (LeftOut(client, "no-network", reason), LeftOut("c@2", "no-wheel", "no wheel"))
    root = ET.fromstring(junit(replace(RECORD, left_out=left_out), [verdict()], Path("runs/run-1"), {}))
    assert breaches(root, JENKINS) == []
    assert [breach for suite in root for breach in breaches(suite, SUREFIRE)] == []
    assert (root.get("tests"), root.get("errors"), root.get("failures")) == ("3", "2", "0")
    assert results(root)[1] == ("error", "left out: no wheel")
    assert properties(root[2]) == {"client": "c@2", "code": "no-wheel"}


def results(root: ET.Element) -> list[tuple[str, str]]:
    """Return the result elements of all cases with their messages."""
    return [(result.tag, result.get("message", "")) for case in root.iter("testcase") for result in case]


def properties(suite: ET.Element) -> dict[str, str]:
    return {each.attrib["name"]: each.attrib["value"] for each in suite.iter("property")}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda suite: suite.find("testcase").append(ET.Element("properties")),
        lambda suite: suite.find("testcase").append(ET.Element("result")),
        lambda suite: suite.attrib.pop("tests"),
        lambda suite: suite.set("time", "1.23456"),
        lambda suite: suite.set("flaky", "1"),
        lambda suite: suite.append(suite.find("properties")),
        lambda suite: suite.find("testcase/failure").attrib.pop("type"),
        lambda suite: suite.find("testcase").insert(0, suite.find("testcase/rerunFailure")),
        lambda suite: suite.find("testcase/rerunFailure").remove(suite.find("testcase/rerunFailure")[0]),
    ],
)
def test_a_violation_of_the_schema_is_detected(verdict, spoil) -> None:
    [suite] = written(verdict("lost"), verdict("lost", attempt=2))
    spoil(suite)
    assert breaches(suite, SUREFIRE)


@pytest.mark.parametrize(
    ("given_verdict", "element", "word"),
    [
        ("pass", None, ""),
        ("fail", "failure", "fail: because"),
        ("unexpected-pass", "failure", "unexpected-pass: because"),
        ("harness-error", "error", "harness-error: because"),
        ("inconclusive", "error", "inconclusive: because"),
        ("expected-fail", "skipped", "xfail: because"),
        ("not-exercised", "skipped", "not-exercised: because"),
        ("unsupported", "skipped", "unsupported: because"),
    ],
)
def test_each_verdict_has_its_junit_element(verdict, given_verdict, element, word) -> None:
    root = written(verdict(verdict=given_verdict, reason="because"))
    assert results(root) == ([(element, word)] if element else [])


def test_only_pass_and_differs_have_no_element() -> None:
    assert set(Verdict) - ELEMENTS.keys() == {Verdict.PASS, Verdict.DIFFERS}


def test_suites_count_their_results(verdict) -> None:
    root = written(*(verdict(verdict=word, seed=seed, reason="so") for seed, word in enumerate(Verdict)))
    counted = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    for suite in root:
        assert [suite.get(key) for key in counted] == [
            str(len(list(suite.iter(tag)))) for tag in counted.values()
        ]
        assert suite.get("tests") == "1" == str(len(list(suite.iter("testcase"))))
    assert root.get("tests") == str(len(Verdict))
    assert {key: root.get(key) for key in ("failures", "errors")} == {"failures": "2", "errors": "2"}


def test_a_trial_and_its_replay_command_are_properties(verdict) -> None:
    trial = verdict("lost", seed=7, variant="small", attempt=2)
    [suite] = written(trial, seconds={trial.trial: 1.5})
    [cause] = causes([trial])
    assert properties(suite) == {
        "trial": trial.trial,
        "client": "c@1",
        "broker": "local:4.3.1x1",
        "scenario": "produce/calm",
        "guarantee": "idempotent",
        "variant": "small",
        "seed": "7",
        "verdict": "fail",
        "code": trial.code,
        "attempts": "1",
        "level": "MUST",
        "fingerprint": cause.fingerprint,
        "replay": f"kafka-trial replay runs/run-1/trials/{trial.trial}",
    }
    [case] = suite.iter("testcase")
    assert (case.get("classname"), case.get("time")) == ("c@1", "1.500")
    assert case.get("name") == "produce/calm[idempotent] small local:4.3.1x1 seed 7"
    [failure] = case
    assert failure.text == f"R-lost (MUST) lost: 3 records\n{properties(suite)['replay']}"


def test_attempts_are_one_case_with_every_failure(verdict) -> None:
    root = written(
        verdict(attempt=1),
        verdict("lost", attempt=2),
        verdict("lost", attempt=3, message="9 records"),
        verdict(verdict="harness-error", reason="no broker", attempt=4),
    )
    assert results(root) == [
        ("failure", "fail in 2 of 4 attempts: lost: 3 records"),
        ("rerunFailure", "attempt 3: fail: lost: 9 records"),
        ("rerunError", "attempt 4: harness-error: no broker"),
    ]
    assert properties(root)["attempts"] == "4"


def test_a_known_flaky_failure_is_not_a_failure(verdict) -> None:
    known = replace(verdict("lost", attempt=2), verdict="expected-fail", reason="known: so")
    root = written(verdict(attempt=1), known)
    assert results(root) == [("flakyFailure", "attempt 2: expected-fail: known: so")]
    assert [root[0].get(key) for key in ("failures", "errors", "skipped")] == ["0", "0", "0"]
    assert results(written(known)) == [("skipped", "xfail: known: so")]


@given(
    st.lists(
        st.sampled_from(["offered < 1", "offered > 1", "recovery < 5s", "lost{client=x} < 1"]), max_size=4
    )
)
def test_thresholds_hold_both_schemas_and_are_counted(verdict, thresholds) -> None:
    """Without thresholds there is no suite of them. The schemas are checked in ``written``."""
    root = written(verdict(sent=5), thresholds=tuple(thresholds))
    suites = [suite for suite in root if suite.get("name") == "thresholds"]
    assert len(suites) == bool(thresholds)
    assert [suite.get("tests") for suite in suites] == [str(len(thresholds))] * len(suites)
    assert root.get("tests") == str(1 + len(thresholds)) == str(len(list(root.iter("testcase"))))
    assert (
        root.get("failures") == str(thresholds.count("offered < 1")) == str(len(list(root.iter("failure"))))
    )
    assert root.get("errors") == str(len(list(root.iter("error"))))


ATTEMPTS = st.lists(
    st.tuples(
        st.sampled_from(["c@1", "d@2"]),
        st.integers(1, 2),
        st.integers(1, 3),
        st.sampled_from([*Verdict]),
        st.text(max_size=5),
        st.integers(0, 2**40),
    ),
    max_size=12,
    unique_by=lambda each: each[:3],
)


@given(ATTEMPTS)
def test_any_verdicts_give_a_valid_and_complete_document(verdict, drawn) -> None:
    trials, seconds = [], {}
    for client, seed, attempt, word, text, took_ms in drawn:
        anomalies = ["lost"] if word in (Verdict.FAIL, Verdict.EXPECTED_FAIL) else []
        trial = verdict(*anomalies, client=client, seed=seed, attempt=attempt, message=text)
        trials.append(replace(trial, verdict=word.value, reason=text))
        seconds[trial.trial] = took_ms / 1_000
    root = written(*trials, seconds=seconds)
    cases = {(each[0], each[1]) for each in drawn}
    assert len(list(root.iter("testcase"))) == len(cases)
    accused = {each[:2] for each in drawn if each[3] in (Verdict.FAIL, Verdict.UNEXPECTED_PASS)}
    assert root.get("failures") == str(len(accused))


@given(st.text())
def test_any_text_is_well_formed_xml(verdict, words) -> None:
    [case] = written(verdict("lost", client=words, reason=words, message=words)).iter("testcase")
    assert case.get("classname") is not None
