"""``kafka-trial prune``: remove old runs, and unused installations and caches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from harness.cli.console import answer, say
from harness.cli.examples import examples
from harness.cli.options import DEFAULT_OUT, AsJson
from harness.cli.output import print_json
from harness.housekeeping import Decision, Found, Kind, Wanted, installed, plan, removal, runs
from harness.model.errors import UsageError
from harness.model.units import duration_s, told_bytes, told_s
from harness.provision.caches import cache_path
from harness.text.counting import some
from harness.text.escaping import safe_line

#: The last second that a four-digit year can show; a file's time may be later.
LAST_S = 253_402_300_799


@dataclass(frozen=True)
class Removed:
    """Something that was removed, or would be in a dry run. ``problem`` says why removal failed."""

    found: Found
    size_bytes: int
    problem: str = ""


EXAMPLES = examples(
    "kafka-trial prune --dry-run",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("prune", epilog=EXAMPLES)(prune)


def prune(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[RUNS]", help="A folder of runs.", show_default="runs")
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Remove runs that did not change for this long (30d, 12h)."),
    ] = None,
    keep: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Remove all runs except the last N.")
    ] = None,
    unused_for: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Remove cached clients and tools that were not used for this long."
        ),
    ] = None,
    caches: Annotated[
        bool, typer.Option("--caches", help="Remove npm's and Go's caches and the brokers' class archives.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be removed, and its size.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Remove old runs and unused parts of the cache, without a question. Anything in use or foreign stays.

    With both --older-than and --keep, a run is removed only if both select it. A list of known failures does not need
    the runs that its reasons name.
    """
    wanted = Wanted(_seconds(older_than), keep, _seconds(unused_for), caches)
    if not wanted.anything:
        raise UsageError(
            "nothing-to-prune",
            "nothing was selected",
            hint="give --older-than, --keep, --unused-for or --caches; --dry-run only lists what would be removed",
        )
    where = folder or DEFAULT_OUT
    things = _found(where, folder is not None, wanted)
    decisions = plan(things, wanted, time.time())
    tried = [_removed(each, dry_run) for each in decisions if each.goes]
    removed = [each for each in tried if isinstance(each, Removed)]
    kept = [each for each in (*decisions, *tried) if isinstance(each, Decision) and not each.goes]
    if wanted.runs and not dry_run and any(each.found.kind is Kind.RUN for each in removed):
        runs.mend_latest(where)
    if as_json:
        print_json(_document(removed, kept, dry_run))
    elif removed:
        answer(_table(removed))
    _say_what_stays(removed, kept)
    say(_sentence(removed, dry_run))
    return 3 if any(each.problem for each in removed) else 0


def _seconds(duration: str | None) -> float | None:
    return None if duration is None else duration_s(duration)


def _found(folder: Path, is_named: bool, wanted: Wanted) -> list[Found]:
    """Return everything of the requested kinds. The default folder of runs need not exist."""
    things = []
    if wanted.runs and (is_named or folder.exists()):
        things += runs.found(folder)
    if wanted.unused_for_s is not None or wanted.caches:
        things += installed.found(cache_path())
    return things


def _removed(decision: Decision, dry_run: bool) -> Removed | Decision:
    """Return the result of removing a thing; another decision if a process has begun to use it."""
    thing = decision.found
    size = removal.size_bytes(thing.path)
    try:
        return Removed(thing, size, removal.look(thing) if dry_run else removal.remove(thing))
    except removal.InUse as why:
        return Decision(replace(thing, stays=str(why)), str(why))


def _table(removed: Sequence[Removed]) -> Table:
    table = Table("what", "size", "unused for", "where", box=None, pad_edge=False)
    for each in removed:
        unused_s = max(0.0, time.time() - each.found.used_s)
        where = Text(_shown(each.found.path))
        table.add_row(each.found.kind.value, told_bytes(each.size_bytes), told_s(unused_s), where)
    return table


def _say_what_stays(removed: Sequence[Removed], kept: Sequence[Decision]) -> None:
    """Report failed removals, and what stays because it is in use or foreign. Recent things are not reported."""
    for each in removed:
        if each.problem:
            say(f"error: {_shown(each.found.path)}: {each.problem}")
    for decision in kept:
        if decision.found.stays:
            say(f"left: {_shown(decision.found.path)}: {decision.found.stays}")


def _sentence(removed: Sequence[Removed], dry_run: bool) -> str:
    gone = [each for each in removed if not each.problem]
    counts = [some(sum(each.found.kind is kind for each in gone), kind.value) for kind in Kind]
    counted = ", ".join(count for count in counts if not count.startswith("0 ")) or "nothing"
    verb = "would remove" if dry_run else "removed"
    return f"{verb} {counted}: {told_bytes(sum(each.size_bytes for each in gone))}"


def _document(removed: Sequence[Removed], kept: Sequence[Decision], dry_run: bool) -> dict[str, Any]:
    """Return the JSON document.

    In a dry run, ``removed`` lists what would be removed. ``failed`` lists what could not be removed completely.
    """
    gone = [each for each in removed if not each.problem]
    return {
        "dry_run": dry_run,
        "size_bytes": sum(each.size_bytes for each in gone),
        "removed": [_row(each.found) | {"size_bytes": each.size_bytes} for each in gone],
        "failed": [_row(each.found) | {"why": each.problem} for each in removed if each.problem],
        "kept": [_row(each.found) | {"why": each.stays} for each in kept],
    }


def _row(thing: Found) -> dict[str, Any]:
    used = datetime.fromtimestamp(min(max(thing.used_s, 0), LAST_S), UTC).isoformat(timespec="seconds")
    return {"kind": thing.kind.value, "path": _shown(thing.path), "used_utc": used}


def _shown(path: Path) -> str:
    return safe_line(str(path))
