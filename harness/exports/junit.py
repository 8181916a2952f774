"""JUnit XML, as Jenkins' xUnit plugin and Maven's Surefire define it.

A disagreement is a failure. A trial that says nothing about the client because something else went wrong is an error. A
trial that was not exercised, or that fails as known, is skipped, with the reason. All attempts at one trial are one
case: the first failed one is the failure, and further ones are reruns, or flaky if the failure is known to be
intermittent. A difference is a passed case with a note in its output and in a property, because servers have no third
state. Neither schema allows properties in a case, so each case is in a suite of its own, which has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from harness.judging.fingerprint import Cause, causes, decisive, findings, replay, same_trial
from harness.model.rows import TrialVerdict
from harness.model.verdicts import Verdict
from harness.outcomes.metrics import metrics
from harness.outcomes.thresholds import Evaluation, Met, evaluated
from harness.outcomes.words import share
from harness.storage.run_store import LeftOut, RunRecord
from harness.text.escaping import log_line

#: Verdict -> JUnit's element; a pass has none. A trial that proves nothing is never reported as a success.
ELEMENTS = {
    Verdict.FAIL: "failure",
    Verdict.UNEXPECTED_PASS: "failure",
    Verdict.HARNESS_ERROR: "error",
    Verdict.INCONCLUSIVE: "error",
    Verdict.EXPECTED_FAIL: "skipped",
    Verdict.NOT_EXERCISED: "skipped",
    Verdict.UNSUPPORTED: "skipped",
}
#: The same for thresholds.
THRESHOLDS = {Met.MISSED: "failure", Met.NOT_EVALUATED: "skipped"}
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}
RERUNS = {"failure": "rerunFailure", "error": "rerunError"}


@dataclass(frozen=True)
class _Case:
    """All attempts at one trial, and why they did not pass."""

    attempts: Sequence[TrialVerdict]
    causes: Sequence[Cause]
    seconds: float

    @property
    def told(self) -> TrialVerdict:
        return decisive(self.attempts)

    @property
    def is_flaky(self) -> bool:
        """True if it is known to fail, and does not always fail."""
        verdicts = {attempt.verdict for attempt in self.attempts}
        return self.told.verdict == Verdict.EXPECTED_FAIL and Verdict.PASS in verdicts

    @property
    def differs(self) -> bool:
        """True if it differs, also if differences do not count."""
        uncounted = self.told.verdict == Verdict.PASS and bool(findings(self.told))
        return self.told.verdict == Verdict.DIFFERS or uncounted

    @property
    def element(self) -> str | None:
        return None if self.is_flaky else ELEMENTS.get(Verdict(self.told.verdict))


def junit(
    record: RunRecord, verdicts: Iterable[TrialVerdict], run: Path, seconds: Mapping[str, float]
) -> bytes:
    """Return the run as JUnit XML. ``seconds`` has the durations of trials, and ``run`` is the folder for replays."""
    verdicts = list(verdicts)
    cases, demanded = _cases(verdicts, seconds), evaluated(record.thresholds, verdicts)
    root = ET.Element(
        "testsuites", name=_text(record.run_id), tests=str(len(cases) + len(demanded) + len(record.left_out))
    )
    for attribute in ("failures", "errors"):
        elements = [case.element for case in cases] + [THRESHOLDS.get(each.result) for each in demanded]
        elements += ["error"] * len(record.left_out)
        root.set(attribute, str(elements.count(COUNTED[attribute])))
    root.set("time", f"{sum(case.seconds for case in cases):.3f}")
    for case in cases:
        _suite(root, case, run)
    if demanded:
        _thresholds(root, demanded)
    for client in record.left_out:
        _left_out(root, client)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _thresholds(root: ET.Element, demanded: Sequence[Evaluation]) -> None:
    """Add a suite with a case for each threshold in each row of the outcome table."""
    suite = ET.SubElement(root, "testsuite", name="thresholds", tests=str(len(demanded)))
    elements = [THRESHOLDS.get(each.result) for each in demanded]
    for attribute, counted in COUNTED.items():
        suite.set(attribute, str(elements.count(counted)))
    suite.set("time", "0.000")
    for each, element in zip(demanded, elements, strict=True):
        name = _text(f"{each.threshold}: {each.where}")
        case = ET.SubElement(suite, "testcase", name=name, classname="thresholds", time="0.000")
        if element is not None:
            told = ET.SubElement(case, element, message=_text(each.sentence))
            if element in RERUNS:  # Surefire's skipped has no type.
                told.set("type", each.result.value)


def _cases(verdicts: Sequence[TrialVerdict], seconds: Mapping[str, float]) -> list[_Case]:
    by_trial: dict[str, list[Cause]] = {}
    for cause in causes(verdicts):
        for trial in cause.trials:
            by_trial.setdefault(trial, []).append(cause)
    attempts: dict[tuple[str, ...], list[TrialVerdict]] = {}
    for verdict in verdicts:
        attempts.setdefault(same_trial(verdict), []).append(verdict)
    return [
        _Case(
            same,
            by_trial.get(decisive(same).trial, []),
            sum(seconds.get(attempt.trial, 0.0) for attempt in same),
        )
        for same in attempts.values()
    ]


def _left_out(root: ET.Element, client: LeftOut) -> None:
    """Add a suite with one error for a client that could not be installed."""
    name = _text(client.client)
    suite = ET.SubElement(
        root,
        "testsuite",
        name=f"{name} installation",
        tests="1",
        failures="0",
        errors="1",
        skipped="0",
        time="0",
    )
    properties = ET.SubElement(suite, "properties")
    for key, value in (("client", name), ("code", _text(client.code))):
        ET.SubElement(properties, "property", name=key, value=value)
    case = ET.SubElement(suite, "testcase", name="installation", classname=name, time="0")
    ET.SubElement(case, "error", message=_text(f"left out: {client.reason}"), type=_text(client.code))


def _suite(root: ET.Element, case: _Case, run: Path) -> None:
    told = case.told
    variant = f" {told.variant}" if told.variant else ""
    time = f"{case.seconds:.3f}"
    name = _text(f"{told.scenario}[{told.guarantee}]{variant} {told.broker} seed {told.seed}")
    suite = ET.SubElement(root, "testsuite", name=_text(f"{told.client} ") + name, tests="1")
    for attribute, element in COUNTED.items():
        suite.set(attribute, "1" if case.element == element else "0")
    suite.set("time", time)
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(case, run).items():
        ET.SubElement(properties, "property", name=key, value=_text(value))
    _results(ET.SubElement(suite, "testcase", name=name, classname=_text(told.client), time=time), case, run)


def _properties(case: _Case, run: Path) -> dict[str, str]:
    told = case.told
    keys = ("trial", "client", "broker", "scenario", "guarantee", "variant", "seed", "verdict", "code")
    properties = {key: str(getattr(told, key)) for key in keys}
    properties["companions"] = " ".join(told.companions)
    properties["differs"] = "true" if case.differs else ""
    properties["availability"] = share(told.availability)
    properties |= {
        f"outcome.{name}": f"{value:.10g}"
        for name, metric in metrics().items()
        if told.availability.offered and (value := metric.value(told)) is not None
    }
    properties |= {f"not_set.{name}": why for name, why in told.not_set.items()}
    properties["attempts"] = str(len(case.attempts))
    properties["level"] = next((cause.level for cause in case.causes), "")
    properties["fingerprint"] = " ".join(cause.fingerprint for cause in case.causes)
    properties["replay"] = replay(run, told.trial, told)
    return {key: value for key, value in properties.items() if value}


def _results(parent: ET.Element, case: _Case, run: Path) -> None:
    """Add the result, then those of further attempts, in the order that Surefire requires."""
    if case.is_flaky:
        for attempt in case.attempts:
            if attempt.verdict == Verdict.EXPECTED_FAIL:
                _again(parent, "flakyFailure", attempt, run)
    elif case.element is not None:
        result = ET.SubElement(parent, case.element, message=_message(case))
        if case.element in RERUNS:  # Surefire's skipped has no type.
            result.set("type", _type(case.told))
        result.text = _details(case.told, run)
    if case.differs:
        ET.SubElement(parent, "system-out").text = f"{_message(case)}\n{_details(case.told, run)}"
    others = [attempt for attempt in case.attempts if attempt is not case.told]
    for element, rerun in RERUNS.items():
        if case.element in RERUNS:
            for attempt in others:
                if ELEMENTS.get(Verdict(attempt.verdict)) == element:
                    _again(parent, rerun, attempt, run)


def _again(parent: ET.Element, element: str, attempt: TrialVerdict, run: Path) -> None:
    message = _text(f"attempt {attempt.attempt}: {attempt.verdict}: {attempt.reason}")
    result = ET.SubElement(parent, element, message=message, type=_type(attempt))
    ET.SubElement(result, "stackTrace").text = _details(attempt, run)


def _message(case: _Case) -> str:
    told = case.told
    word = "xfail" if told.verdict == Verdict.EXPECTED_FAIL else told.verdict
    alike = sum(attempt.verdict == told.verdict for attempt in case.attempts)
    often = f" in {alike} of {len(case.attempts)} attempts" if len(case.attempts) > 1 else ""
    return _text(f"{word}{often}: {told.reason}")


def _type(attempt: TrialVerdict) -> str:
    return _text(next((found.finding.anomaly for found in findings(attempt)), attempt.verdict))


def _details(attempt: TrialVerdict, run: Path) -> str:
    found = [
        f"{requirement.id} ({requirement.level}) {each.finding.anomaly}: {each.finding.message}"
        for each in findings(attempt)
        for requirement in each.requirements
    ]
    return "\n".join(map(_text, [*found, replay(run, attempt.trial, attempt)]))


def _text(words: str) -> str:
    """Return one line that contains only what XML allows. Servers show it in logs."""
    return log_line(words)
