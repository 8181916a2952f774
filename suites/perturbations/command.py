"""``kafka-trial perturb``: how many defects the checks catch in the evidence of trials that pass."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatchcase
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer
from rich.table import Table

from harness.cli.console import answer, say
from harness.cli.examples import examples
from harness.cli.options import DEFAULT_OUT, AsJson, Jobs, Quiet, RunFolder, processes_of
from harness.cli.output import print_json
from harness.cli.selecting import Seed
from harness.model.errors import NothingSelected, unknown
from harness.model.rows import TrialVerdict
from harness.planning import validate_plan
from harness.plugins import registry
from harness.plugins.perturbation import Perturbation
from harness.storage.run_store import RunStore
from harness.system.workers import prepare_processes
from harness.text.counting import some
from suites.perturbations.table import NOT_JUDGED, perturbations
from suites.perturbations.trying import PASSING, EditStats, Result, Trying, tallies, try_trial

#: The workload whose defects :data:`NOT_JUDGED` lists.
PRODUCE = "produce"
PROGRESS_S = 5.0
#: The most lines to print on a screen. ``--json`` prints all.
SHOWN = 40

EXAMPLES = examples(
    "kafka-trial perturb",
    "kafka-trial perturb runs/latest --sample 10 -j auto",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("perturb", epilog=EXAMPLES)(perturb)


def perturb(
    run: RunFolder = DEFAULT_OUT,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", metavar="GLOB", help="Only these perturbations; repeatable.")
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Try only N of the passing trials, drawn by the seed."),
    ] = None,
    tries: Annotated[int, typer.Option(min=1, max=10_000, help="How many places of each trial to try.")] = 1,
    seed: Seed = 0,
    jobs: Jobs = "1",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Change the evidence of passing trials as defective clients would have left it, and judge it again."""
    kinds = _chosen(kind or ["*"])
    store = RunStore.open(run)
    passing = {verdict.trial: verdict for verdict in store.verdicts() if verdict.verdict in PASSING}
    if not passing:
        raise NothingSelected("no-passed-trial", "{path} has no trial that passed", path=store.folder)
    trials = _sampled(list(passing), sample, seed)
    not_judged = _not_judged([passing[trial] for trial in trials])
    began = time.monotonic()
    tried = _all(store.folder, trials, tuple(kinds), seed, tries, processes_of(jobs), quiet)
    if not tried:
        raise NothingSelected(
            "no-perturbation-fits",
            "no perturbation fits; kinds: {count}, trials that passed: {trials}",
            count=len(kinds),
            trials=len(trials),
        )
    found = tallies(kinds, tried)
    document = _document(store.folder, trials, found, not_judged)
    if as_json:
        print_json(document)
    else:
        answer(_table(found))
        _tell(found, not_judged)
    code = 1 if document["escaped"] else 0
    say(
        f"{some(len(trials), 'trial')}, {document['kinds']} of {some(len(kinds), 'kind')} fitted, "
        f"{document['tried']} tried, {document['caught']} caught ({document['share']:.1%}), "
        f"{len(document['escaped'])} escaped, {len(not_judged)} not judged; {time.monotonic() - began:.0f} s; "
        f"exit {code}"
    )
    return code


def _chosen(globs: Sequence[str]) -> dict[str, Perturbation]:
    """Return the perturbations that match one of the patterns. Raise UsageError for a pattern that matches none."""
    known = perturbations()
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in known):
            raise unknown("perturbation", glob, known)
    return {name: each for name, each in known.items() if any(fnmatchcase(name, glob) for glob in globs)}


def _sampled(trials: Sequence[str], sample: int | None, seed: int) -> Sequence[str]:
    """Return ``sample`` of the trials, in their order, or all if no number is given or there are no more."""
    if sample is None or sample >= len(trials):
        return trials
    chosen = set(Random(seed).sample(range(len(trials)), sample))
    return [trial for at, trial in enumerate(trials) if at in chosen]


def _all(
    folder: Path, trials: Sequence[str], kinds: tuple[str, ...], seed: int, tries: int, jobs: int, quiet: bool
) -> list[Trying]:
    """Try every trial with every kind, in the order of the trials."""
    tried: dict[str, list[Trying]] = {}
    told = time.monotonic()
    for trial, found in _each(folder, trials, kinds, seed, tries, jobs):
        tried[trial] = found
        if not quiet and time.monotonic() - told >= PROGRESS_S:
            told = time.monotonic()
            say(f"[{len(tried)}/{len(trials)}] {sum(map(len, tried.values()))} tried")
    return [each for trial in trials for each in tried[trial]]


def _each(
    folder: Path, trials: Sequence[str], kinds: tuple[str, ...], seed: int, tries: int, jobs: int
) -> Iterator[tuple[str, list[Trying]]]:
    """Yield the results of each trial as it ends. If the caller stops iterating, the remaining trials are stopped."""
    if jobs <= 1:
        for trial in trials:
            yield trial, one_trial(folder, trial, kinds, seed, tries)
        return
    prepare_processes()
    with ProcessPoolExecutor(jobs, mp_context=get_context("forkserver")) as pool:
        try:
            under_way = {pool.submit(one_trial, folder, trial, kinds, seed, tries): trial for trial in trials}
            for future in as_completed(under_way):
                yield under_way[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def one_trial(folder: Path, trial: str, kinds: tuple[str, ...], seed: int, tries: int) -> list[Trying]:
    """Try all kinds of these names on one stored trial."""
    known = perturbations()
    evidence = RunStore(folder).read_evidence(trial)
    validate_plan.check_numbers(evidence.record.spec)
    return list(try_trial(evidence, [known[name] for name in kinds], seed, tries))


def _not_judged(verdicts: Sequence[TrialVerdict]) -> Mapping[str, str]:
    """Return the defects of a producer that no check judges, if a trial is of one."""
    workloads = {registry.scenario(each.scenario).workload.kind for each in verdicts}
    return NOT_JUDGED if PRODUCE in workloads else {}


def _document(
    folder: Path, trials: Sequence[str], found: Sequence[EditStats], not_judged: Mapping[str, str]
) -> dict[str, Any]:
    tried = sum(len(each.tried) for each in found)
    escaped = [each for tally in found for each in tally.escaped]
    return {
        "run": str(folder),
        "trials": len(trials),
        "kinds": sum(bool(each.tried) for each in found),
        "tried": tried,
        "caught": tried - len(escaped),
        "caught_otherwise": sum(each.count(Result.OTHERWISE) for each in found),
        "share": (tried - len(escaped)) / tried,
        "escaped": [_row(each) for each in escaped],
        "not_fitting": [each.kind.name for each in found if not each.tried],
        "not_judged": [{"name": name, "reason": reason} for name, reason in not_judged.items()],
        "by_kind": [_kind_row(each) for each in found if each.tried],
    }


def _row(tried: Trying) -> dict[str, Any]:
    return {
        "trial": tried.trial,
        "perturbation": tried.perturbation,
        "place": tried.place,
        "verdict": tried.verdict,
        "reason": tried.reason,
        "found": list(tried.codes),
    }


def _kind_row(tally: EditStats) -> dict[str, Any]:
    return {
        "name": tally.kind.name,
        "defect": tally.kind.defect,
        "caught_by": list(tally.kind.caught_by),
        "expected": tally.kind.verdict.value,
        "tried": len(tally.tried),
        "caught": tally.count(Result.CAUGHT),
        "caught_otherwise": tally.count(Result.OTHERWISE),
        "escaped": len(tally.escaped),
        "awaited": list(tally.awaited),
    }


def _table(found: Sequence[EditStats]) -> Table:
    table = Table(
        "perturbation",
        "a client that ...",
        "tried",
        "caught",
        "otherwise",
        "escaped",
        box=None,
        pad_edge=False,
    )
    for tally in found:
        if tally.tried:
            numbers = (len(tally.tried), *(tally.count(result) for result in Result))
            table.add_row(tally.kind.name, tally.kind.defect, *map(str, numbers))
    return table


def _tell(found: Sequence[EditStats], not_judged: Mapping[str, str]) -> None:
    """Print what escaped, by kind, what was caught otherwise, what fitted no trial, and what no check judges."""
    escaped = [each for tally in found for each in tally.escaped]
    for each in escaped[:SHOWN]:
        say(f"escaped: {each.perturbation} at {each.place} of {each.trial}: {each.verdict}: {each.reason}")
    if len(escaped) > SHOWN:
        say(f"and {len(escaped) - SHOWN} more that escaped; --json lists all")
    for tally in found:
        otherwise = {code for each in tally.tried if each.result is Result.OTHERWISE for code in each.codes}
        if otherwise:
            wanted, got = ", ".join(tally.kind.caught_by), ", ".join(sorted(otherwise))
            say(f"{tally.kind.name} was caught by {got}, expected {wanted}")
    for tally in found:
        if tally.escaped and tally.awaited:
            say(f"no check finds {', '.join(tally.awaited)}, which should catch {tally.kind.name}")
    if idle := [tally.kind.name for tally in found if not tally.tried]:
        say(f"fitted no trial: {', '.join(idle)}")
    for name, reason in not_judged.items():
        say(f"not judged: {name}: {reason}")
