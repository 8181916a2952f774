"""``kafka-trial run``: a plan from names on the command line, carried out and judged."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from harness.attempts import attempt_of
from harness.cli import carrying, select
from harness.cli import options as shared
from harness.cli.options import MAX_SEED, Options
from harness.errors import NothingSelected, UsageError
from harness.outcome import EXIT_CODES, Verdict
from harness.plan import make_plan
from harness.spec import Plan
from harness.store import RunStore


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "run",
        context_settings={"allow_interspersed_args": True},
        help="Run a finite plan and judge every trial of it.",
    )(run)


def run(
    scenario: Annotated[
        list[str] | None, typer.Argument(help="Names or globs; without any, all but the generated ones.")
    ] = None,
    client: Annotated[
        list[str] | None, typer.Option("-c", "--client", help="NAME or NAME@VERSION; repeatable.")
    ] = None,
    broker: Annotated[list[str] | None, typer.Option("-b", "--broker", help="KIND:ID; repeatable.")] = None,
    guarantee: Annotated[
        list[str] | None, typer.Option("-g", "--guarantee", help="Only under these; repeatable.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="The seed of the plan: all randomness comes from it.")
    ] = 1,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from --seed upwards.")] = 1,
    jobs: shared.Jobs = shared.AUTO,
    out_dir: shared.OutDir = shared.DEFAULT_OUT,
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Go on with this run: trials without a verdict.")
    ] = None,
    rerun_failed: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A new run of what that run did not allow or not finish."),
    ] = None,
    max_time: shared.MaxTime = None,
    max_failures: shared.MaxFailures = None,
    fail_fast: shared.FailFast = False,
    shard: shared.Shard = None,
    repeat: shared.Repeat = 1,
    deflake: shared.Deflake = 1,
    baseline: shared.Baseline = None,
    junit: shared.JUnit = None,
    summary: shared.Summary = None,
    dry_run: shared.DryRun = False,
    as_json: shared.AsJson = False,
    capture: shared.Capture = False,
    quiet: shared.Quiet = False,
    command: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> int:
    """Run a finite plan and judge every trial of it."""
    options = Options(
        jobs=shared.jobs_of(jobs),
        out_dir=out_dir,
        dry_run=dry_run,
        as_json=as_json,
        quiet=quiet,
        capture=capture,
        max_time_s=shared.max_time_of(max_time),
        max_failures=1 if fail_fast else max_failures,
        shard=shared.shard_of(shard),
        repeat=repeat,
        deflake=deflake,
        baseline=baseline,
        junit=junit,
        summary=summary,
    )
    chosen = [
        *(scenario or ()),
        *(client or ()),
        *(broker or ()),
        *(guarantee or ()),
        *([command] if command else ()),
    ]
    if resume is not None:
        if chosen or rerun_failed or dry_run or capture or shard or baseline or repeat > 1 or deflake > 1:
            raise UsageError(
                "--resume goes on with its own plan; beside it stand only -j, --max-time, --max-failures and outputs"
            )
        return carrying.go_on(RunStore.open(resume), options)
    if rerun_failed is not None:
        if chosen:
            raise UsageError(
                "--rerun-failed takes its trials from that run; name no scenario, client, broker beside it"
            )
        return carrying.start(_not_allowed(RunStore.open(rerun_failed)), options)
    plan = make_plan(
        select.scenarios(scenario or (), guarantee or ()),
        select.clients(client or (), shlex.split(command or "")),
        select.brokers(broker or ()),
        range(seed, seed + seeds),
    )
    return carrying.start(plan, options)


def _not_allowed(store: RunStore) -> Plan:
    """The trials of a run that were not allowed or have no verdict, each as a first attempt."""
    allowed = {verdict.trial for verdict in store.verdicts() if EXIT_CODES[Verdict(verdict.verdict)] == 0}
    plan = store.record.plan
    left = {
        attempt_of(spec, 1).trial: attempt_of(spec, 1) for spec in plan.trials if spec.trial not in allowed
    }
    if not left:
        raise NothingSelected(f"every trial of {store.folder} was allowed")
    return Plan(plan.seed, tuple(left.values()))
