"""``kafka-trial run``: run and judge a plan made from names on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from harness.adapter import environment
from harness.cli import run_plan
from harness.cli.console import say
from harness.cli.examples import examples
from harness.cli.options import AllowCommand, GivenPlan, with_given
from harness.cli.selecting import Brokers, Clients, Guarantees, OwnCommand, OwnName, Scenarios, Seed, Seeds
from harness.judging.repeats import attempt_of
from harness.model.errors import NothingSelected, UsageError
from harness.model.spec import Plan
from harness.model.verdicts import EXIT_CODES, Verdict
from harness.planning import own_commands, own_load, selection, typed_settings, user_settings
from harness.planning.plan import Axes, chosen_plan, excluded
from harness.running import announced
from harness.storage.run_store import RunStore

EXAMPLES = examples(
    "kafka-trial run produce/calm",
    "kafka-trial run 'network/*' -c confluent-kafka@2.3.0 -c confluent-kafka@2.16.1 --seeds 5",
    "kafka-trial run network/reset -c java -X linger.ms=20 --load records=10000,rate=1000 --threshold 'given_up < 1%'",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "run",
        epilog=EXAMPLES,
        context_settings={"allow_interspersed_args": True},
    )(with_given(run, GivenPlan))


def run(
    scenario: Scenarios = None,
    client: Clients = None,
    broker: Brokers = None,
    guarantee: Guarantees = None,
    seed: Seed = 1,
    seeds: Seeds = 1,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Continue this run with its trials that have no verdict."),
    ] = None,
    rerun_failed: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Start a new run of that run's trials that failed or have no verdict."
        ),
    ] = None,
    allow_command: AllowCommand = False,
    name: OwnName = None,
    command: OwnCommand = None,
    *,
    given: GivenPlan,
) -> int:
    """Run a finite plan and judge every trial of it."""
    options = given.options()
    argv = shlex.split(command or "")
    chosen = {
        "SCENARIO": scenario,
        "--client": client,
        "--broker": broker,
        "--guarantee": guarantee,
        "--load": given.load,
        "--setting": given.setting,
        "--name": name,
        "--seed": seed != 1,
        "--seeds": seeds > 1,
    }
    if resume is not None:
        _assert_none_beside_resume({**chosen, "--rerun-failed": rerun_failed, **options.of_the_plan})
        store = RunStore.open(resume)
        _with_commands(store.record.plan, argv, allow_command, options.client_env)
        return run_plan.go_on(store, given.options(jobs=store.record.jobs))
    if rerun_failed is not None:
        _assert_none_beside_rerun(chosen)
        again = _not_allowed(RunStore.open(rerun_failed))
        _with_commands(again, argv, allow_command, options.client_env)
        selection.brokers([spec.broker for spec in again.trials])
        return run_plan.start(again, options)
    clients = selection.clients(client or (), argv, name)
    clients = announced.with_versions(clients, environment.named(options.client_env))
    axes = Axes(
        selection.loaded(
            selection.scenarios(scenario or (), guarantee or ()), own_load.parsed(given.load or ())
        ),
        clients,
        selection.brokers(broker or ()),
        user=user_settings.parsed(given.setting or (), clients),
    )
    about = [f"left out: {each}" for each in excluded(axes.left_out())]
    return run_plan.start(chosen_plan(axes, range(seed, seed + seeds)), options, about)


def _assert_none_beside_resume(options: Mapping[str, object]) -> None:
    if given := tuple(name for name, value in options.items() if value):
        raise UsageError(
            "option-beside-resume",
            "{options} cannot be given with --resume, which keeps the plan of its run; add only -j, --max-time, "
            "--max-failures and output options",
            options=given,
        )


def _assert_none_beside_rerun(options: Mapping[str, object]) -> None:
    if given := tuple(name for name, value in options.items() if value):
        raise UsageError(
            "option-beside-rerun-failed",
            "{options} cannot be given with --rerun-failed, which takes its trials from that run",
            options=given,
        )


def _with_commands(plan: Plan, argv: list[str], allow_command: bool, env: tuple[str, ...]) -> Plan:
    """Return a stored plan whose commands may be run. Raises UsageError if they were not allowed again."""
    typed_settings.again(argv, plan)
    own_commands.allow((spec.client for spec in plan.trials), allow_command, say, env)
    return plan


def _not_allowed(store: RunStore) -> Plan:
    """Return the trials of a run that have no allowed verdict, each as a first attempt."""
    allowed = {verdict.trial for verdict in store.verdicts() if EXIT_CODES[Verdict(verdict.verdict)] == 0}
    plan = store.record.plan
    firsts = (attempt_of(spec, 1) for spec in plan.trials if spec.trial not in allowed)
    left = {first.trial: first for first in firsts}
    if not left:
        raise NothingSelected(
            "nothing-failed", "every trial of {path} has an allowed verdict", path=store.folder
        )
    return Plan(plan.seed, tuple(left.values()))
