"""``kafka-trial diff``: how trials and outcomes changed between two runs, or two clients or configurations of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli import outcome_changes as changed
from harness.cli.console import answer, say
from harness.cli.examples import examples
from harness.cli.options import AsJson, Form, InForm
from harness.cli.output import print_json
from harness.cli.results import nothing_finished
from harness.exports import markdown
from harness.judging.compare import Across, Difference, Side, VerdictChange, compare, side, versions_of
from harness.judging.outcome_changes import NAMES, outcome_changes, part
from harness.model.errors import UsageError, unknown
from harness.outcomes.pairs import Direction
from harness.storage.run_store import RunStore
from harness.text.escaping import for_markdown

MAX_ROWS = 200
COLUMNS = ("change", "client", "trial", "old", "new", "why")


EXAMPLES = examples(
    "kafka-trial diff runs/first runs/second",
    "kafka-trial diff runs/latest --between confluent-kafka@2.3.0 confluent-kafka@2.16.1 --strict",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff", epilog=EXAMPLES)(diff)


def diff(
    old: Annotated[Path, typer.Argument(help="The earlier run's folder, or a folder of runs (its latest).")],
    new: Annotated[
        Path | None, typer.Argument(help="The later run's folder; with --between, default: the same run.")
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="OLD NEW",
            help="Compare two clients, versions (NAME@VERSION) or configurations of the runs; the one without "
            "settings of its own is 'default'.",
        ),
    ] = None,
    form: InForm = Form.TEXT,
    as_json: AsJson = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if an outcome is clearly worse.")
    ] = False,
) -> int:
    """Compare two runs, or two parts of one, trial by trial and by outcome; exit 1 if a trial fails only now."""
    stores = _stores(old, new, between)
    across, before, after = sides(*stores, between)
    for store, one in zip(stores, (before, after), strict=True):
        if not one.verdicts:
            raise nothing_finished(store)
    differences = compare(before, after, across)
    outcomes = outcome_changes(before, after, across)
    told = [each for each in differences if each.change != VerdictChange.SAME]
    counts = Counter(each.change for each in differences)
    names = list(between or (str(store.folder) for store in stores))
    summary = f"{_counted(counts)}{_versions(before, after)}"
    if as_json or form is Form.JSON:
        print_json(_document(names, before, after, counts, told) | {"outcomes": changed.document(outcomes)})
    elif form is Form.MD:
        for row in (*_markdown(names, summary, told), "", *changed.markdown(outcomes)):
            answer(row)
    else:
        for change, client, where, was, now, reason in map(_cells, told):
            answer(f"{change}: {client} {where}: {was} -> {now}: {reason}")
        for line in changed.lines(outcomes):
            answer(line)
    say(summary)
    worse = strict and any(each.clear and each.direction == Direction.WORSE for each in outcomes.by_client)
    return 1 if worse or VerdictChange.REGRESSION in counts else 0


def _stores(old: Path, new: Path | None, between: tuple[str, str] | None) -> tuple[RunStore, RunStore]:
    if new is None and between is None:
        raise UsageError(
            "one-side",
            "diff needs a second run, or --between OLD NEW to compare two parts of {path}",
            path=old,
        )
    first = RunStore.open(old)
    return first, first if new is None else RunStore.open(new)


def sides(old: RunStore, new: RunStore, between: tuple[str, str] | None) -> tuple[Across, Side, Side]:
    """Return what is compared, and its two sides. Raise UsageError for a name that its run does not have."""
    before, after = (side(store.record.plan.trials, store.verdicts()) for store in (old, new))
    if between is None:
        return Across.RUNS, before, after
    for across in NAMES:
        parts = [part(one, across, name) for one, name in zip((before, after), between, strict=True)]
        if all(each.verdicts for each in parts):
            return across, parts[0], parts[1]
    for one, name in zip((before, after), between, strict=True):
        known = sorted({name_of(verdict) for verdict in one.verdicts for name_of in NAMES.values()})
        if name not in known:
            raise unknown("client or configuration of the run", name, known)
    raise UsageError(
        "unlike-sides",
        "{old} and {new} must both be clients, or both configurations",
        old=between[0],
        new=between[1],
    )


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{change} {counts[change]}" for change in VerdictChange if change in counts)


def _versions(old: Side, new: Side) -> str:
    """Return which clients are compared in two versions, as text."""
    before, after = versions_of(old), versions_of(new)
    moved = [
        f"{name} {before[name][0]} with {after[name][0]}"
        for name in before.keys() & after.keys()
        if len(before[name]) == len(after[name]) == 1 and before[name] != after[name]
    ]
    return f"; compared: {', '.join(sorted(moved))}" if moved else ""


def _cells(each: Difference) -> tuple[str, ...]:
    """Return the change, the clients, the trial, the old and new result, and the reason."""
    clients = dict.fromkeys(result.client for result in (each.old, each.new) if result)
    variant = f" {each.variant}" if each.variant else ""
    where = f"{each.scenario}[{each.guarantee}]{variant} {each.broker} seed {each.seed}"
    came = (str(result) if result else "not run" for result in (each.old, each.new))
    return each.change, " -> ".join(clients), where, *came, each.reason


def _markdown(folders: Sequence[str], summary: str, told: Sequence[Difference]) -> list[str]:
    old, new = map(for_markdown, folders)
    lines = [f"# kafka-trial diff: {old} and {new}", "", for_markdown(summary)]
    if told:
        lines += ["", *markdown.head(COLUMNS)]
    lines += [markdown.row(map(for_markdown, _cells(each))) for each in told[:MAX_ROWS]]
    if len(told) > MAX_ROWS:
        lines += ["", f"and {len(told) - MAX_ROWS} more"]
    return lines


def _document(
    folders: Sequence[str], old: Side, new: Side, counts: Counter[str], told: Sequence[Difference]
) -> dict[str, Any]:
    return {
        "old": folders[0],
        "new": folders[1],
        "clients": {"old": versions_of(old), "new": versions_of(new)},
        "counts": {change: counts[change] for change in VerdictChange if change in counts},
        "differences": list(told),
    }
