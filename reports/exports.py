"""The verdicts for other programs: JUnit for CI, Markdown for a step summary, JSON lines for everything else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

import msgspec

from harness.outcome import SEVERITY, Verdict
from harness.rows import TrialVerdict
from harness.store import RunRecord
from reports import overview
from reports.words import BADGES

#: verdict -> JUnit's element; a pass has none. What proves nothing is never a silent success.
JUNIT = {
    Verdict.FAIL: "failure",
    Verdict.UNEXPECTED_PASS: "failure",
    Verdict.HARNESS_ERROR: "error",
    Verdict.INCONCLUSIVE: "error",
    Verdict.EXPECTED_FAIL: "skipped",
    Verdict.NOT_EXERCISED: "skipped",
    Verdict.UNSUPPORTED: "skipped",
}

#: A summary on GitHub is dropped whole above 1 MiB; this many reasons stay far below.
MAX_REASONS = 100

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(record: RunRecord, verdicts: Iterable[TrialVerdict]) -> bytes:
    """JUnit XML: one suite a client, one case a trial."""
    suites: dict[str, list[TrialVerdict]] = {}
    for verdict in verdicts:
        suites.setdefault(verdict.client, []).append(verdict)
    root = ET.Element("testsuites", name=_text(record.run_id))
    for client, trials in sorted(suites.items()):
        elements = [JUNIT.get(Verdict(trial.verdict)) for trial in trials]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=_text(client),
            tests=str(len(trials)),
            failures=str(elements.count("failure")),
            errors=str(elements.count("error")),
            skipped=str(elements.count("skipped")),
        )
        for trial in trials:
            _case(suite, trial)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(suite: ET.Element, trial: TrialVerdict) -> None:
    name = f"{trial.scenario}[{trial.guarantee}] {trial.broker} seed {trial.seed}"
    case = ET.SubElement(suite, "testcase", classname=_text(trial.client), name=_text(name))
    properties = ET.SubElement(case, "properties")
    for key in ("trial", "broker", "guarantee", "seed", "verdict"):
        ET.SubElement(properties, "property", name=key, value=_text(str(getattr(trial, key))))
    element = JUNIT.get(Verdict(trial.verdict))
    if element is not None:
        result = ET.SubElement(case, element, message=_text(f"{trial.verdict}: {trial.reason}"))
        result.text = _text(
            "\n".join(
                f"{requirement.id} ({requirement.level}) {finding.anomaly}: {finding.message}"
                for requirement in trial.requirements
                for finding in requirement.findings
            )
        )


def _text(words: str) -> str:
    """``words`` without the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", words)


def summary(record: RunRecord, verdicts: Sequence[TrialVerdict], agreement: str) -> str:
    """Markdown: the matrix, then what is not a pass, the worst first."""
    clients = sorted({verdict.client for verdict in verdicts})
    cells: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for verdict in verdicts:
        row = cells.setdefault((verdict.broker, verdict.scenario, verdict.guarantee), {})
        row.setdefault(verdict.client, []).append(verdict.verdict)
    lines = [
        f"# kafka-trial: {_md(record.run_id)}",
        "",
        f"{len(verdicts)} of {len(record.plan.trials)} planned trials. {agreement}",
        "",
        "| " + " | ".join(["broker", "scenario", "guarantee", *map(_md, clients)]) + " |",
        "|" + " --- |" * (3 + len(clients)),
    ]
    for key, row in sorted(cells.items()):
        shown = [_counted(row.get(client, [])) for client in clients]
        lines.append("| " + " | ".join([*map(_md, key), *shown]) + " |")
    wrong = overview.wrong(verdicts)
    lines += [
        "",
        *(
            f"- {_shown(trial.verdict)} `{_md(trial.trial)}`: {_md(trial.reason)}"
            for trial in wrong[:MAX_REASONS]
        ),
    ]
    if len(wrong) > MAX_REASONS:
        lines.append(f"- and {len(wrong) - MAX_REASONS} more")
    return "\n".join(lines).rstrip() + "\n"


def _counted(verdicts: Sequence[str]) -> str:
    many = len(verdicts) > 1
    words = [
        _shown(verdict) + (f" {verdicts.count(verdict)}" if many else "")
        for verdict in SEVERITY
        if verdict in verdicts
    ]
    return ", ".join(words) or "not run"


def _shown(verdict: str) -> str:
    return f"{BADGES[verdict].glyph} {verdict}"


def _md(words: str) -> str:
    """``words`` as text of a Markdown table: no pipe, no tag, no line break."""
    plain = words.replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
    return " ".join(plain.split())


def results(verdicts: Iterable[TrialVerdict]) -> bytes:
    """JSON lines: the verdicts, in the plan's order."""
    return msgspec.json.Encoder().encode_lines(list(verdicts))
