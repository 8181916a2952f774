"""``kafka-trial simulate``: generated trials in virtual time, as many as requested, judged like live ones."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from harness.cli import completion, interrupts
from harness.cli.console import say, summary
from harness.cli.examples import examples
from harness.cli.options import (
    DEFAULT_OUT,
    AsJson,
    Jobs,
    Load,
    MaxTime,
    Options,
    OutDir,
    Quiet,
    Settings,
    Strict,
    max_time_of,
    processes_of,
)
from harness.cli.output import print_json
from harness.cli.run_plan import new_record
from harness.cli.selecting import Clients, Guarantees, OtherBroker, Seed
from harness.model.mode import Mode
from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, Plan, TrialSpec
from harness.model.verdicts import Verdict, exit_code
from harness.planning import own_load, selection, user_settings
from harness.plugins import registry
from harness.simulated.generated import possible
from harness.simulated.selection import assert_simulated
from harness.simulated.trial import broker_of
from harness.storage.run_store import RunStore
from harness.text.counting import some
from suites.simulate.batches import DIGEST_BYTES, Job, Keep, Tried, in_batches

Trials = Annotated[
    int,
    typer.Option("--seeds", "--trials", min=1, help="The number of consecutive seeds, starting with --seed."),
]
DEFAULT_SCENARIO = "generated/any"
PROGRESS_S = 2.0
#: How many kept trials are printed one by one. The folder has them all.
SHOWN = 20

EXAMPLES = examples(
    "kafka-trial simulate",
    "kafka-trial simulate -c mutant-reuses_sequence_after_expiry --seeds 200 -j auto",
    "kafka-trial simulate network/reset -X linger.ms=20 --keep all",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate", epilog=EXAMPLES)(simulate)


@dataclass
class VerdictCounts:
    """The results so far."""

    counts: Counter[str] = field(default_factory=Counter)
    kept: list[TrialSpec] = field(default_factory=list)
    verdicts: list[TrialVerdict] = field(default_factory=list)
    virtual_ns: int = 0
    #: The sum of the digests of all trials, which end in any order.
    digests: int = 0

    @property
    def digest(self) -> str:
        """One digest of all trials."""
        return f"{self.digests % 256**DIGEST_BYTES:0{2 * DIGEST_BYTES}x}"

    def add(self, tried: Tried) -> None:
        """Add one trial."""
        self.counts[tried.verdict.verdict] += 1
        self.virtual_ns += tried.virtual_ns
        self.digests += tried.digest
        if tried.kept is not None:
            self.kept.append(tried.kept)
            self.verdicts.append(tried.verdict)


def simulate(
    scenario: Annotated[
        str, typer.Argument(help="Which situation.", autocompletion=completion.names("scenarios"))
    ] = DEFAULT_SCENARIO,
    client: Clients = None,
    guarantee: Guarantees = None,
    load: Load = None,
    broker: OtherBroker = None,
    seed: Seed = 1,
    trials: Trials = 1_000,
    max_time: MaxTime = None,
    keep: Annotated[
        Keep, typer.Option(help="Which trials keep their evidence in the run's folder.")
    ] = Keep.FAILED,
    digest: Annotated[
        bool,
        typer.Option("--digest", help="Print one digest of all evidence and verdicts, to compare two runs."),
    ] = False,
    jobs: Jobs = "1",
    out_dir: OutDir = DEFAULT_OUT,
    as_json: AsJson = False,
    quiet: Quiet = False,
    strict: Strict = False,
    setting: Settings = None,
    named: Annotated[str | None, typer.Option("--scenario", hidden=True)] = None,
) -> int:
    """Run generated trials of the reference client or its mutants in virtual time, and judge them.

    Without --broker, each seed draws a scripted broker of one to three nodes.
    """
    scenario = named or scenario
    registry.scenario(scenario)
    processes = processes_of(jobs)
    [chosen] = selection.scenarios([scenario], guarantee or (), mode=Mode.SIMULATED)
    refs = tuple(_client(name) for name in client or ("reference",))
    if broker is not None:
        broker_of(broker)
    user, own = user_settings.parsed(setting or (), refs), own_load.parsed(load or ())
    chosen = possible(chosen, user)
    selection.loaded([chosen], own)
    store = RunStore.create(out_dir, new_record(Plan(seed, ()), Options(processes)))
    job = Job(chosen.name, chosen.guarantees, refs, broker, keep, store.folder, user, own, digest)
    say(
        f"run {store.folder}: {some(trials, 'seed')} from {seed} of {chosen.name}, {some(processes, 'process')}"
    )
    tally, began = VerdictCounts(), time.monotonic()
    with store.claimed():
        stopped, stopped_by = _until_signal(
            job, range(seed, seed + trials), processes, tally, max_time_of(max_time), quiet
        )
        seconds = time.monotonic() - began
        _conclude(store, seed, tally, stopped)
    if as_json:
        print_json(_document(store, seed, tally, seconds) | ({"digest": tally.digest} if digest else {}))
    code = 128 + stopped_by if stopped_by else exit_code(map(Verdict, tally.counts), strict=strict)
    done = tally.counts.total()
    told = f"{some(done, 'trial')} in {seconds:.1f} s ({done / seconds:.0f} a second), {_words(tally)}; "
    told += f"digest {tally.digest}; " if digest else ""
    say(f"{told}virtual over real time {tally.virtual_ns / 1e9 / seconds:,.0f}; exit {code}")
    return code


def _client(name: str) -> ClientRef:
    [ref] = selection.clients([name], ())
    return assert_simulated(ref)


def _until_signal(
    job: Job, seeds: range, processes: int, tally: VerdictCounts, max_time: float | None, quiet: bool
) -> tuple[str, int]:
    """Run all seeds into the tally. Return why it ended, and the number of the signal that ended it, or 0."""
    try:
        return _carry_out(job, seeds, processes, tally, max_time, quiet), 0
    except interrupts.Interrupted as signal:
        interrupts.ignore()
        return "interrupted", signal.number


def _carry_out(
    job: Job, seeds: range, processes: int, tally: VerdictCounts, max_time: float | None, quiet: bool
) -> str:
    """Run all seeds into the tally. Return why it ended."""
    began = told = time.monotonic()
    for batch in in_batches(job, seeds, processes):
        for tried in batch:
            tally.add(tried)
        now = time.monotonic()
        if not quiet and now - told >= PROGRESS_S:
            told = now
            say(f"[{tally.counts.total()}/{len(seeds) * len(job.clients)}] {_words(tally)}")
        if max_time is not None and now - began >= max_time:
            return "completed: the time limit was reached"
    return "completed"


def _conclude(store: RunStore, seed: int, tally: VerdictCounts, reason: str) -> None:
    """Store the kept trials as the run's plan, since the others left no evidence that could be judged again."""
    store.replace_plan(Plan(seed, tuple(tally.kept)))
    store.stop(reason)
    if tally.verdicts:
        told = sorted(tally.verdicts, key=lambda verdict: verdict.verdict == Verdict.PASS)[:SHOWN]
        summary(told, store.folder)


def _words(tally: VerdictCounts) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(tally.counts.items())) or "none yet"


def _document(store: RunStore, seed: int, tally: VerdictCounts, seconds: float) -> dict[str, Any]:
    done = tally.counts.total()
    return {
        "run": str(store.folder),
        "seed": seed,
        "trials": done,
        "counts": dict(sorted(tally.counts.items())),
        "seconds": round(seconds, 3),
        "trials_per_second": round(done / seconds, 1),
        "virtual_seconds": round(tally.virtual_ns / 1e9, 3),
        "virtual_over_real": round(tally.virtual_ns / 1e9 / seconds, 1),
        "verdicts": tally.verdicts,
    }
