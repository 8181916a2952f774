"""``kafka-trial run``: make the plan, install the clients, run the trials, say what came out."""

from __future__ import annotations

import asyncio
import platform
import shlex
import signal
import sys
import uuid
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from harness import asked
from harness.campaign import Campaign, install
from harness.cli import select
from harness.cli.output import print_json, run_document
from harness.cli.screen import Watcher, answer, say, summary
from harness.errors import EnvironmentProblem, NothingSelected, UsageError
from harness.outcome import Verdict, exit_code
from harness.plan import make_plan
from harness.ports import InstalledClient
from harness.spec import ClientRef, Plan
from harness.store import RunRecord, RunStore

DEFAULT_OUT = Path("runs")
JOBS = 8
MAX_JOBS = 32
MAX_SEED = 2**62


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
    jobs: Annotated[int, typer.Option("-j", "--jobs", min=1, max=MAX_JOBS, help="Trials at a time.")] = JOBS,
    out_dir: Annotated[Path, typer.Option(help="Where runs are kept.")] = DEFAULT_OUT,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with this run: trials without a verdict.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    capture: Annotated[
        bool, typer.Option("--capture", help="Also capture each trial's packets, where that is allowed.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
    command: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> int:
    """Run a finite plan and judge every trial of it."""
    if resume is not None:
        if scenario or client or broker or guarantee or command or dry_run or capture:
            raise UsageError(
                "--resume goes on with its own plan; it takes no scenario, client, broker, guarantee or capture"
            )
        store = RunStore.open(resume)
        plan = store.record.plan
        jobs = store.record.jobs
        clients = install(spec.client for spec in plan.trials if not store.finished(spec.trial))
    else:
        plan = make_plan(
            select.scenarios(scenario or (), guarantee or ()),
            select.clients(client or (), shlex.split(command or "")),
            select.brokers(broker or ()),
            range(seed, seed + seeds),
        )
        if not plan.trials:
            raise NothingSelected("the plan is empty")
        asked.check(plan, "live")
        if dry_run:
            return _print_plan(plan, as_json)
        # Before there is a folder: a version that does not exist should leave nothing behind.
        clients = install(spec.client for spec in plan.trials)
        store = RunStore.create(out_dir, new_record(plan, jobs, capture=capture))
    return carry_out(store, clients, jobs, as_json, quiet)


def _print_plan(plan: Plan, as_json: bool) -> int:
    if as_json:
        print_json(plan)
    else:
        for spec in plan.trials:
            faults = ", ".join(f"{fault.kind} {fault.duration_ms} ms" for fault in spec.faults) or "no fault"
            answer(escape(f"{spec.trial}: {faults}"))
        answer(f"{len(plan.trials)} trials, seed {plan.seed}")
    return 0


def new_record(plan: Plan, jobs: int, *, capture: bool = False) -> RunRecord:
    """The record of a run that begins now."""
    now = datetime.now(UTC)
    return RunRecord(
        run_id=f"{now:%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:4]}",
        started_utc=now.isoformat(timespec="seconds"),
        plan=plan,
        jobs=jobs,
        environment={"python": platform.python_version(), "system": platform.platform()},
        command=["kafka-trial", *sys.argv[1:]],
        capture=capture,
    )


def carry_out(
    store: RunStore, clients: Mapping[ClientRef, InstalledClient], jobs: int, as_json: bool, quiet: bool
) -> int:
    """Run the store's plan, tell what came out, and give the exit code. UsageError if another process is at it."""
    with store.claimed():
        return _carry_out(store, clients, jobs, as_json, quiet)


def _carry_out(
    store: RunStore, clients: Mapping[ClientRef, InstalledClient], jobs: int, as_json: bool, quiet: bool
) -> int:
    plan = store.record.plan
    say(f"run {store.folder}: {len(plan.trials)} trials, seed {plan.seed}, {jobs} at a time")
    with Watcher(sum(not store.finished(spec.trial) for spec in plan.trials), quiet) as watcher:
        campaign = Campaign(store, clients, jobs, watcher.began, watcher.ended, say)
        try:
            stopped_by = asyncio.run(_until_signal(campaign.run()))
        except Exception as error:
            with suppress(EnvironmentProblem):  # a disk that is full is told by the error itself
                store.stop(f"failed: {error}")
            raise
    verdicts = list(store.verdicts())
    summary(verdicts)
    store.stop("completed" if stopped_by is None else "interrupted")
    if as_json:
        print_json(run_document(store.folder, plan.seed, verdicts))
    if stopped_by is not None:
        say(f"interrupted after {len(verdicts)} of {len(plan.trials)} trials; the finished ones are kept")
        say(f"hint: go on with: kafka-trial run --resume {store.folder}")
        return 128 + stopped_by
    code = exit_code(Verdict(verdict.verdict) for verdict in verdicts)
    say(f"seed {plan.seed}; report: kafka-trial report {store.folder}; exit {code}")
    return code


async def _until_signal(work: Coroutine[Any, Any, None]) -> int | None:
    """Carry ``work`` out, or cancel it in order on SIGINT, SIGTERM or SIGHUP: then the signal's number."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    received: list[int] = []

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
    try:
        await task
    except asyncio.CancelledError:
        if not received:
            raise
    return received[0] if received else None
