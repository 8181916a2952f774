"""The report of a trial that is not a pass, as text for an issue: expected, observed, and how to reproduce it.

The order is fixed: the trial; the requirements that were not met, each with its text and the observation; the faults as
they took effect; the frames around the failure; the folder of the evidence; the command that repeats the trial.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.judging.fingerprint import findings
from harness.judging.frame_excerpt import WireLine, origin_ns, wire_lines
from harness.model.evidence import Evidence
from harness.model.rows import Availability, FaultRow, Finding, RequirementVerdict, TrialVerdict
from harness.outcomes.words import share
from harness.plugins import registry
from harness.text.commands import replay_command
from harness.text.counting import some
from harness.text.escaping import log_line

#: The number of frames that are shown, and how many of them before and after each moment.
MAX_LINES, AROUND = 24, 4
MAX_SAMPLES = 3


def failure_text(verdict: TrialVerdict, evidence: Evidence, folder: Path) -> str:
    """Return the whole report. Lines have about 120 characters at most, if the client's own words allow it."""
    return "\n".join(map(log_line, _lines(verdict, evidence, folder)))


def sentence(verdict: TrialVerdict) -> str:
    """Return the report as one line."""
    return log_line(f"{_who(verdict)}: {verdict.reason}")


def replay_line(folder: Path, verdict: TrialVerdict) -> str:
    """Return the command that runs the trial again."""
    return replay_command(folder, is_command=verdict.is_command, env=verdict.client_env)


def _lines(verdict: TrialVerdict, evidence: Evidence, folder: Path) -> Iterator[str]:
    yield _who(verdict)
    yield f"  on {verdict.broker}, seed {verdict.seed}"
    yield f"  {verdict.reason}"
    if succeeded := share(verdict.availability):
        kind, told = registry.workload(evidence.record.spec.workload.kind), verdict.availability
        yield f"  {succeeded} of {some(told.offered, kind.element)} {kind.done}{_recovery(told)}"
    for found in findings(verdict):
        for requirement in found.requirements:
            yield from _expected(requirement)
        yield from _observed(found.finding, origin_ns(evidence))
    if evidence.faults:
        yield "active faults (ms of load):"
        yield from (f"  {_fault(row, origin_ns(evidence))}" for row in evidence.faults)
    if lines := wire_lines(evidence, verdict, most=MAX_LINES, around=AROUND):
        yield f"wire, {len(lines)} of {len(evidence.frames)} frames (ms of load; * a fault was in effect):"
        yield from (text for line in lines for text in _frame(line))
    yield f"evidence: {folder}"
    yield f"replay: {replay_line(folder, verdict)}"


def _recovery(told: Availability) -> str:
    gap = "" if told.longest_gap_ms is None else f"; longest gap {told.longest_gap_ms:,} ms"
    if told.steady_ack_ms is None:
        return gap
    return f"{gap}; steady {told.steady_ack_ms:,} ms after the last fault"


def _who(verdict: TrialVerdict) -> str:
    return f"{verdict.verdict}: {verdict.scenario} {verdict.guarantee}, {verdict.client}"


def _expected(requirement: RequirementVerdict) -> Iterator[str]:
    yield f"{requirement.level} {requirement.id}"
    if statement := registry.statement(requirement.id):
        yield f"  expected: {statement}"


def _observed(finding: Finding, load_ns: int) -> Iterator[str]:
    yield f"  observed: {finding.anomaly}: {finding.message}"
    for sample in finding.samples[:MAX_SAMPLES]:
        yield "    " + ", ".join(_said(*each, load_ns) for each in sample.items() if each[1] is not None)
    if finding.count > MAX_SAMPLES:
        yield f"    {min(MAX_SAMPLES, len(finding.samples))} of {finding.count} shown"


def _said(name: str, value: str | int | None, load_ns: int) -> str:
    """Return a column of a sample as text. Times are on the same scale as those of faults and frames."""
    if name.endswith("_ns") and isinstance(value, int):
        return f"{name.removesuffix('_ns')} at {(value - load_ns) / 1e6:.1f}"
    return f"{name} {value}"


def _fault(row: FaultRow, load_ns: int) -> str:
    if row.effective_ns is None:
        return f"{row.spec.kind}: never in effect"
    begin_ms, end_ms = ((moment - load_ns) / 1e6 for moment in row.effective_ns)
    return f"{row.spec.kind}: {begin_ms:.0f} to {end_ms:.0f}, touched {row.hits}"


def _frame(line: WireLine) -> Iterator[str]:
    if line.gap:
        yield "        ..."
    mark = "*" if line.fault else " "
    correlation = "" if line.correlation_id is None else f" #{line.correlation_id}"
    where = f"conn {line.conn} broker {line.broker}"
    yield f" {mark}{line.at_ms:10.1f}  {where}  {line.arrow} {line.what}{correlation}  {line.details}".rstrip()
