"""``kafka-trial diff``: how each trial changed between two runs, of two versions of a client or of the same one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.console import answer, say
from harness.cli.output import print_json
from harness.exports import markdown
from harness.judging.compare import Difference, Side, VerdictChange, compare, side, versions_of
from harness.model.errors import NothingSelected
from harness.storage.run_store import RunStore
from harness.text.escaping import for_markdown

MAX_ROWS = 200
COLUMNS = ("change", "client", "trial", "old", "new", "why")


class Format(StrEnum):
    """The output format of the differences."""

    TEXT = "text"
    MD = "md"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff")(diff)


def diff(
    old: Annotated[Path, typer.Argument(help="The earlier run's folder, or a folder of runs (its latest).")],
    new: Annotated[Path, typer.Argument(help="The later run's folder, or a folder of runs (its latest).")],
    form: Annotated[
        Format, typer.Option("--format", help="For a terminal, a pull request, or a program.")
    ] = (Format.TEXT),
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> int:
    """Compare two runs trial by trial; exit 1 if a trial fails now that did not fail before."""
    stores = RunStore.open(old), RunStore.open(new)
    before, after = (side(store.record.plan.trials, store.verdicts()) for store in stores)
    for store, one in zip(stores, (before, after), strict=True):
        if not one.verdicts:
            raise NothingSelected("no-finished-trial", "{path} has no finished trial", path=store.folder)
    differences = compare(before, after)
    told = [each for each in differences if each.change != VerdictChange.SAME]
    counts = Counter(each.change for each in differences)
    folders = [str(store.folder) for store in stores]
    summary = f"{_counted(counts)}{_versions(before, after)}"
    if as_json or form is Format.JSON:
        print_json(_document(folders, before, after, counts, told))
    elif form is Format.MD:
        for row in _markdown(folders, summary, told):
            answer(row)
    else:
        for change, client, where, was, now, reason in map(_cells, told):
            answer(f"{change}: {client} {where}: {was} -> {now}: {reason}")
    say(summary)
    return 1 if VerdictChange.REGRESSION in counts else 0


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
        lines += ["", markdown.row(COLUMNS), "|" + " --- |" * len(COLUMNS)]
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
