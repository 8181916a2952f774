"""``kafka-trial campaign``: run the plan of a campaign file, in the same way as ``run`` runs its own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from harness.adapter import environment
from harness.baseline.file import parse, read
from harness.cli import campaign_plan, run_plan
from harness.cli.examples import examples
from harness.cli.options import GivenPlan, Options, jobs_of, max_time_of, with_given
from harness.cli.selecting import Brokers, Clients, Guarantees, MaybeSeed, MaybeSeeds, OwnCommand, OwnName
from harness.model.errors import Collecting
from harness.outcomes.thresholds import parsed
from harness.planning import campaign_file, own_load, selection
from harness.planning.campaign_file import CampaignFile
from harness.planning.strict_toml import at
from harness.plugins import registry
from harness.running import announced

EXAMPLES = examples(
    "kafka-trial campaign campaign.toml --dry-run",
    "kafka-trial campaign campaign.toml --seeds 10 -j auto --junit junit.xml",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("campaign", epilog=EXAMPLES)(with_given(campaign, GivenPlan))


def campaign(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A TOML file; kafka-trial schema campaign prints its schema."),
    ],
    client: Clients = None,
    broker: Brokers = None,
    guarantee: Guarantees = None,
    seed: MaybeSeed = None,
    seeds: MaybeSeeds = None,
    name: OwnName = None,
    command: OwnCommand = None,
    *,
    given: GivenPlan,
) -> int:
    """Run a campaign file. Options override the file, and so does your own client's command line after --."""
    errors = Collecting()
    told = _overridden(campaign_file.load_partly(file, errors), given.load, broker, guarantee)
    is_whole, options = not errors, _options(told, file, given, errors)
    argv = shlex.split(command or "")
    chosen = selection.clients(client or (), argv, name) if client or argv or name else ()
    env = environment.named(options.client_env)
    if not is_whole:
        with errors.each(), at(str(file)):
            campaign_plan.axes_of(told, chosen, given.setting or (), file.parent)
        errors.check()
    with errors.each(), at(str(file)):
        made = campaign_plan.expanded(
            told,
            _seeds(seed, seeds, told),
            chosen,
            given.setting or (),
            file.parent,
            announce=lambda refs: announced.with_versions(refs, env),
        )
    errors.check()
    counted = campaign_plan.counts(made.plan) if options.dry_run else ()
    return run_plan.start(made.plan, options, [*made.about, *counted])


def _options(file: CampaignFile, path: Path, given: GivenPlan, errors: Collecting) -> Options:
    """Return the options, those of the file where none were typed. Its invalid ones are added to ``errors``."""
    found: dict[str, Any] = {}
    for name, value_of in (("jobs", _jobs), ("max_time_s", _max_time_s), ("thresholds", _thresholds)):
        with errors.each():
            found[name] = value_of(file, path)
    if not given.baseline:
        with errors.each(), at(f"{path}: baseline"):
            found["baseline"] = _baseline(file, path)
    return given.options(max_failures=file.budget.max_failures, partial=True, **found)


def _overridden(
    file: CampaignFile, load: list[str] | None, brokers: list[str] | None, guarantees: list[str] | None
) -> CampaignFile:
    """Return the file with what was typed instead. Raise UsageError for what is wrong with that."""
    own = own_load.parsed(load or ())
    if own is not None and own.payloads is not None:
        # A typed path begins at the current folder, not at the file.
        own = replace(own, payloads=str(Path(own.payloads).absolute()))
    return replace(
        file,
        load=own or file.load,
        brokers=tuple(selection.brokers(brokers)) if brokers else file.brokers,
        guarantees=tuple(map(selection.guarantee, guarantees or ())) or file.guarantees,
    )


def _seeds(first: int | None, count: int | None, file: CampaignFile) -> list[int]:
    """Return the seeds of the file, unless options give the first seed or the number of seeds."""
    numbers = campaign_file.seeds(file)
    if first is None and count is None:
        return numbers
    begin = numbers[0] if first is None else first
    return list(range(begin, begin + (count or len(numbers))))


def _thresholds(file: CampaignFile, path: Path) -> list[str]:
    errors, found = Collecting(), []
    for number, text in enumerate(file.thresholds):
        with errors.each(), at(f"{path}: thresholds[{number}]"):
            found.append(parsed(text).text)
    errors.check()
    return found


def _baseline(file: CampaignFile, path: Path) -> str | None:
    """Return the file's list of known failures: the name of a list, or a path that begins at the file.

    Raise UsageError if it cannot be read.
    """
    if file.baseline is None or file.baseline in registry.names("baselines"):
        return file.baseline
    source = str(path.parent / file.baseline)
    parse(read(source), source)
    return source


def _jobs(file: CampaignFile, path: Path) -> int | None:
    with at(f"{path}: jobs"):
        return None if file.jobs is None else jobs_of(str(file.jobs))


def _max_time_s(file: CampaignFile, path: Path) -> float | None:
    with at(f"{path}: budget.max_time"):
        return max_time_of(file.budget.max_time)
