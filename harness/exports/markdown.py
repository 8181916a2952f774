"""Markdown for a pull request or a step's summary: findings by cause, the matrix, next steps; the worst first.

GitHub drops a step's summary of more than 1 MiB completely, so a longer one is cut, and says how much is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.judging.cells import counted
from harness.judging.fingerprint import Cause, causes, often, replay, what
from harness.model.rows import TrialVerdict
from harness.model.verdicts import GLYPHS, SEVERITY, Verdict
from harness.outcomes import words
from harness.outcomes.cells import Row, table
from harness.outcomes.thresholds import Evaluation, evaluated, worst_first
from harness.storage.run_store import LeftOut, RunRecord
from harness.text.commands import path_word
from harness.text.counting import some
from harness.text.escaping import command_span, for_markdown, in_code_span
from harness.text.version_order import by_version

MAX_CAUSES = 50
MAX_ROWS = 200
#: Far below the limit, whatever the other parts need.
MAX_BYTES = 500_000

SECTIONS = {
    "Findings": (Verdict.FAIL, Verdict.UNEXPECTED_PASS),
    "Differences": (Verdict.DIFFERS,),
    "Nothing proven": (Verdict.HARNESS_ERROR, Verdict.INCONCLUSIVE, Verdict.NOT_EXERCISED),
    "Known failures": (Verdict.EXPECTED_FAIL,),
    "Unsupported": (Verdict.UNSUPPORTED,),
}
#: Explains the cells of the matrix.
CELLS = (
    "A cell has its verdicts, and the share of the load that succeeded, such as records that were acknowledged, with "
    "the range of single trials."
)
#: Explains the table of outcomes.
OUTCOMES = (
    "Shares are of the records that were offered; they are over all trials of a row, with the range of single trials. "
    "Other values are the median, with the range. Trials that were disturbed, or whose faults had no effect, are left "
    "out. `outcomes.json` has confidence intervals, and the meaning of each column."
)
NEXT = {
    Verdict.FAIL: "Reproduce one with its replay command. Failures that the client documents belong in a list of "
    "known failures: {update}.",
    Verdict.UNEXPECTED_PASS: "A known failure did not occur: {check} says "
    "which, and `prune` removes its entry.",
    Verdict.HARNESS_ERROR: "A harness-error says nothing about a client. Its folder has `client.log`, and "
    "`kafka-trial doctor` checks the machine.",
    Verdict.INCONCLUSIVE: "An inconclusive trial was disturbed: run it again, with fewer trials at a time (`-j`).",
}


def summary(record: RunRecord, verdicts: Sequence[TrialVerdict], run: Path, agreement: str = "") -> str:
    """Return the run in Markdown. ``run`` is the folder for replays; ``agreement`` is a sentence for the top."""
    found = causes(verdicts)
    lines = [f"# kafka-trial: {for_markdown(record.run_id)}", "", _opening(record, verdicts, agreement), ""]
    if record.left_out:
        lines += ["## Clients left out", "", *map(_left_out, record.left_out), ""]
    for title, members in SECTIONS.items():
        if of_them := [cause for cause in found if cause.verdict in members]:
            lines += [f"## {title}", "", *_listed(of_them, run), ""]
    if demanded := evaluated(record.thresholds, verdicts):
        lines += ["## Thresholds", "", *_thresholds(demanded), ""]
    if ignored := _ignored(verdicts):
        lines += ["## Settings that were not applied", "", *ignored, ""]
    lines += ["## Clients", "", *_clients(verdicts), "", CELLS, ""]
    lines += ["## Outcomes", "", *outcomes(table(verdicts)), "", OUTCOMES, ""]
    lines += ["## Matrix", "", *_matrix(verdicts), "", "## Next", "", *_next(verdicts, run)]
    return _bounded(lines)


def shown(verdict: str) -> str:
    """Return a verdict as glyph and word."""
    return f"{GLYPHS[Verdict(verdict)][0]} {verdict}"


def row(cells: Iterable[str]) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(cells)} |"


def head(names: Sequence[str]) -> list[str]:
    """Return the first two lines of a table."""
    return [row(names), "|" + " --- |" * len(names)]


def outcomes(rows: Sequence[Row]) -> list[str]:
    """Return the table of outcomes."""
    lines = head(words.headings(rows))
    lines += [row(map(for_markdown, cells)) for cells in words.lines(rows[:MAX_ROWS])]
    return lines if len(rows) <= MAX_ROWS else [*lines, "", f"and {some(len(rows) - MAX_ROWS, 'more row')}"]


def _thresholds(evaluations: Sequence[Evaluation]) -> list[str]:
    told = worst_first(evaluations)
    lines = head(["result", "threshold", "where", "observed"])
    lines += [
        row(map(for_markdown, (each.result, each.threshold, each.where, each.observed or "none")))
        for each in told[:MAX_ROWS]
    ]
    return lines if len(told) <= MAX_ROWS else [*lines, "", f"and {len(told) - MAX_ROWS} more"]


def _opening(record: RunRecord, verdicts: Sequence[TrialVerdict], agreement: str) -> str:
    counts = Counter(verdict.verdict for verdict in verdicts)
    told = ", ".join(f"{shown(verdict)} {counts[verdict]}" for verdict in SEVERITY if verdict in counts)
    ended = f" ({for_markdown(record.stop_reason)})" if record.stop_reason not in (None, "completed") else ""
    trials = f"{len(verdicts)} of {len(record.plan.trials)} planned trials{ended}: {told or 'none'}."
    return f"{trials} {agreement}".rstrip()


def _left_out(client: LeftOut) -> str:
    name, code = in_code_span(client.client), in_code_span(client.code)
    return f"- `{name}` could not be installed: {for_markdown(client.reason)} (`{code}`)"


def _listed(found: Sequence[Cause], run: Path) -> list[str]:
    lines = []
    for cause in found[:MAX_CAUSES]:
        level = f" {cause.level} {for_markdown(', '.join(cause.requirements))}." if cause.requirements else ""
        lines.append(
            f"- {shown(cause.verdict)} `{in_code_span(what(cause))}`: {for_markdown(cause.message)} "
            f"({for_markdown(often(cause))}).{level} Fingerprint {cause.fingerprint}"
        )
        lines.append(f"  - smallest: {command_span(replay(run, cause.smallest, cause))}")
    if len(found) > MAX_CAUSES:
        lines.append(f"- and {len(found) - MAX_CAUSES} more")
    return lines


def _matrix(verdicts: Sequence[TrialVerdict]) -> list[str]:
    clients = sorted({verdict.client for verdict in verdicts}, key=by_version)
    cells: dict[tuple[str, ...], dict[str, list[TrialVerdict]]] = {}
    heads = ["broker", "scenario", "guarantee"]
    if any(verdict.variant for verdict in verdicts):
        heads.append("configuration")
    for verdict in verdicts:
        place = (verdict.broker, verdict.scenario, verdict.guarantee, verdict.variant)[: len(heads)]
        here = cells.setdefault(place, {})
        here.setdefault(verdict.client, []).append(verdict)
    ranked = sorted(cells, key=lambda place: (_worst(cells[place]), place))
    lines = head([*heads, *map(for_markdown, clients)])
    for place in sorted(ranked[:MAX_ROWS]):
        lines.append(
            row([*map(for_markdown, place), *(_cell(cells[place].get(client, [])) for client in clients)])
        )
    if len(ranked) > MAX_ROWS:
        lines += ["", f"and {some(len(ranked) - MAX_ROWS, 'more row')}, none worse than these"]
    return lines


def _clients(verdicts: Sequence[TrialVerdict]) -> list[str]:
    """Return a row per client and a column per guarantee, with the verdicts of all situations and the availability."""
    guarantees = sorted({verdict.guarantee for verdict in verdicts})
    lines = head(["client", *map(for_markdown, guarantees)])
    for client in sorted({verdict.client for verdict in verdicts}, key=by_version):
        mine = [verdict for verdict in verdicts if verdict.client == client]
        cells = ([each for each in mine if each.guarantee == guarantee] for guarantee in guarantees)
        lines.append(row([for_markdown(client), *map(_cell, cells)]))
    return lines


def _ignored(verdicts: Sequence[TrialVerdict]) -> list[str]:
    """Return a line for each setting that a client could not apply although the user chose it."""
    lacking = {(each.client, name): why for each in verdicts for name, why in each.not_set.items()}
    return [
        f"- {for_markdown(client)} does not get `{in_code_span(name)}`: {for_markdown(why)}"
        for (client, name), why in sorted(lacking.items(), key=lambda each: (by_version(each[0][0]), each))
    ]


def _worst(here: dict[str, list[TrialVerdict]]) -> int:
    return min(SEVERITY.index(Verdict(each.verdict)) for verdicts in here.values() for each in verdicts)


def _cell(verdicts: Sequence[TrialVerdict]) -> str:
    return counted(verdicts, shown) or "not run"


def _next(verdicts: Sequence[TrialVerdict], run: Path) -> list[str]:
    seen = {Verdict(verdict.verdict) for verdict in verdicts}
    named = path_word(run)
    advice = [
        sentence.format(
            update=command_span(f"kafka-trial baseline update {named} --file known.toml"),
            check=command_span(f"kafka-trial baseline check {named} --file FILE"),
        )
        for verdict, sentence in NEXT.items()
        if verdict in seen
    ]
    report = command_span(f"kafka-trial report {named}")
    return [f"- {sentence}" for sentence in (*advice, f"The full report, with timelines: {report}.")]


def _bounded(lines: Sequence[str]) -> str:
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > MAX_BYTES:
            kept += ["", f"and {some(len(lines) - len(kept), 'more line')}"]
            break
        kept.append(line)
    return "\n".join(kept).rstrip() + "\n"
