"""``kafka-trial baseline``: keep the list of known failures consistent with what runs show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.baseline import KnownFailure, apply
from harness.baseline.file import appended, in_force, parse, read, without
from harness.baseline.upkeep import contradicted, missing, unneeded
from harness.cli.console import answer, say
from harness.cli.examples import examples
from harness.cli.options import AsJson, RunFolder
from harness.cli.output import print_json
from harness.cli.results import finished
from harness.files import must_be_file, write_named
from harness.judging.fingerprint import causes, document, line
from harness.model.errors import UsageError
from harness.model.rows import TrialVerdict
from harness.model.verdicts import Verdict
from harness.storage.run_store import RunStore
from harness.text.counting import some

File = Annotated[Path, typer.Option("--file", help="The list of known failures, a TOML file.")]
Source = Annotated[str, typer.Option("--file", metavar="FILE|known", help="The list of known failures.")]


EXAMPLES = {
    "update": examples("kafka-trial baseline update runs/latest --file known.toml"),
    "prune": examples("kafka-trial baseline prune runs/latest --file known.toml"),
    "check": examples("kafka-trial baseline check runs/latest --file known.toml"),
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Known failures: find missing, unneeded and outdated entries of the list.")
    for command in (update, prune, check):
        group.command(command.__name__, epilog=EXAMPLES[command.__name__])(command)
    app.add_typer(group, name="baseline", no_args_is_help=True)


def update(run: RunFolder, file: File, as_json: AsJson = False) -> int:
    """Add the fewest entries that cover the failures of a complete run. Write their reasons yourself afterwards."""
    store = RunStore.open(run)
    verdicts = _whole(store)
    must_be_file(file)
    text = read(str(file)) if file.exists() else ""
    added = missing(verdicts, in_force(parse(text, str(file))), f"found by run {store.record.run_id}")
    if added:
        write_named(file, appended(text, added).encode())
    _tell(file, "added", added, as_json)
    return 0


def prune(run: RunFolder, file: File, as_json: AsJson = False) -> int:
    """Remove the entries whose trials are in a complete run that did not need them."""
    verdicts = _whole(RunStore.open(run))
    text = read(str(file))
    known = parse(text, str(file))
    places = unneeded(verdicts, known)
    if places:
        write_named(file, without(text, places, str(file)).encode())
    _tell(file, "removed", [known[place] for place in places], as_json)
    return 0


def check(run: RunFolder, file: Source, as_json: AsJson = False) -> int:
    """List new failures, known failures that passed, and expired entries; exit 1 if there are any."""
    store = RunStore.open(run)
    verdicts = finished(store)
    entries = parse(read(file), file)
    known = in_force(entries)
    expired = [entry for entry in entries if entry not in known]
    new = [
        cause for cause in causes(apply(each, known) for each in verdicts) if cause.verdict == Verdict.FAIL
    ]
    passed = contradicted(verdicts, known)
    lines = [
        *(f"new failure: {line(cause)}" for cause in new),
        *(
            f"unexpected pass: {entry}: it held in {some(len(trials), 'trial')}, such as {trials[0]}"
            for entry, trials in passed.items()
        ),
        *(f"expired on {entry.expires}: {entry}" for entry in expired),
    ]
    if as_json:
        told = [{"entry": entry, "trials": trials} for entry, trials in passed.items()]
        found = [document(cause, store.folder) for cause in new]
        print_json({"file": file, "new": found, "unexpected": told, "expired": expired})
    else:
        for sentence in lines:
            answer(sentence)
    say(f"{store.folder} against {file}: {some(len(lines), 'thing')} to look at")
    return 1 if lines else 0


def _whole(store: RunStore) -> list[TrialVerdict]:
    """Return all verdicts of a run.

    Raise UsageError if it is incomplete, since it cannot show whether the entries for the other trials are needed.
    """
    verdicts, planned = finished(store), len(store.record.plan.trials)
    if len(verdicts) < planned:
        raise UsageError(
            "run-incomplete",
            "{path} has {count} of {planned} verdicts; only a complete run can change a list",
            hint=f"kafka-trial run --resume {store.folder} completes it",
            path=store.folder,
            count=len(verdicts),
            planned=planned,
        )
    return verdicts


def _tell(file: Path, done: str, entries: Sequence[KnownFailure], as_json: bool) -> None:
    if as_json:
        print_json({"file": str(file), done: list(entries)})
    else:
        for entry in entries:
            answer(f"{done}: {entry}")
    say(f"{file}: {len(entries)} {done}")
