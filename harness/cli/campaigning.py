"""``kafka-trial campaign``: a plan from a file, carried out as ``run`` carries out its own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from harness import campaign_file
from harness.campaign_file import CampaignFile
from harness.cli import carrying, expanding, select
from harness.cli import options as shared
from harness.cli.options import MAX_SEED, Options
from harness.strict_toml import at


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("campaign")(campaign)


def campaign(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A TOML file; kafka-trial schema campaign says what can be in it."
        ),
    ],
    client: Annotated[
        list[str] | None, typer.Option("-c", "--client", help="NAME or NAME@VERSION; repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=MAX_SEED, help="The first seed.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds, from the first upwards.")] = None,
    jobs: shared.Jobs = "",
    out_dir: shared.OutDir = shared.DEFAULT_OUT,
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
    """Carry out a campaign file. Options go before what it says; so does a program of your own behind --."""
    told = campaign_file.load(file)
    options = Options(
        jobs=_jobs(jobs, told, file),
        out_dir=out_dir,
        dry_run=dry_run,
        as_json=as_json,
        quiet=quiet,
        capture=capture,
        max_time_s=_max_time_s(max_time, told, file),
        max_failures=1 if fail_fast else max_failures or told.budget.max_failures,
        shard=shared.shard_of(shard),
        repeat=repeat,
        deflake=deflake,
        baseline=baseline,
        junit=junit,
        summary=summary,
        partial=True,
    )
    chosen = select.clients(client or (), shlex.split(command or "")) if client or command else ()
    with at(str(file)):
        made = expanding.expanded(told, _seeds(seed, seeds, told), chosen)
    return carrying.start(
        made.plan, options, [*made.about, *(expanding.counts(made.plan) if dry_run else ())]
    )


def _seeds(first: int | None, count: int | None, file: CampaignFile) -> list[int]:
    """Those of the file, unless a first one or a number of them is asked for."""
    numbers = campaign_file.seeds(file)
    if first is None and count is None:
        return numbers
    begin = numbers[0] if first is None else first
    return list(range(begin, begin + (count or len(numbers))))


def _jobs(asked: str, file: CampaignFile, path: Path) -> int:
    if asked or file.jobs is None:
        return shared.jobs_of(asked or shared.AUTO)
    with at(f"{path}: jobs"):
        return shared.jobs_of(str(file.jobs))


def _max_time_s(asked: str | None, file: CampaignFile, path: Path) -> float | None:
    if asked:
        return shared.max_time_of(asked)
    with at(f"{path}: budget.max_time"):
        return shared.max_time_of(file.budget.max_time)
