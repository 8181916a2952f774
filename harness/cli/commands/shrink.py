"""``kafka-trial shrink``: reduce a failing trial as far as possible, in the mode of its broker."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from harness.adapter import environment
from harness.cli import options as shared
from harness.cli.commands.replay import Trial, located, moved, read_plan
from harness.cli.console import say
from harness.cli.examples import examples
from harness.cli.options import Given, Options, with_given
from harness.cli.output import print_json
from harness.cli.run_plan import new_record
from harness.cli.search_session import carry_out, live_run, simulated_run
from harness.cli.selecting import Anomaly, OtherBroker, OwnCommand
from harness.files import present
from harness.files.row_files import read_json, write_json
from harness.model.errors import UsageError, unknown
from harness.model.mode import Mode
from harness.model.path_names import made_of
from harness.model.rows import TrialVerdict
from harness.model.run_files import TRIAL, VERDICT
from harness.model.spec import AtTime, FaultSpec, OnClientEvent, OnFrame, OnPhase, Plan, TrialSpec, Trigger
from harness.planning import (
    own_commands,
    own_load,
    setting_warnings,
    typed_settings,
    user_settings,
    validate_plan,
)
from harness.planning.plan import with_load, with_settings
from harness.plugins import registry
from harness.running.install import install
from harness.search.shrink_passes import TIERS, Allowed
from harness.search.shrinker import STARTS, Rate, Shrinker
from harness.search.trial_batches import TrialBatches, anomalies
from harness.storage.run_store import RunStore
from harness.text.commands import replay_command
from harness.text.counting import some

MINIMAL, PREFIX = "minimal.json", "minimal-"

EXAMPLES = examples(
    "kafka-trial shrink runs/latest/trials/TRIAL",
    "kafka-trial shrink TRIAL --faults-only --anomaly lost",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("shrink", epilog=EXAMPLES)(with_given(shrink))


def shrink(
    trial: Trial,
    broker: OtherBroker = None,
    allow_command: shared.AllowCommand = False,
    anomaly: Anomaly = None,
    attempts: Annotated[
        int | None,
        typer.Option(
            min=1, max=1_000, help="Attempts per schedule; default: depends on how often the trial fails."
        ),
    ] = None,
    faults_only: Annotated[
        bool, typer.Option("--faults-only", help="Only remove faults; do not simplify those that remain.")
    ] = False,
    command: OwnCommand = None,
    *,
    given: Given,
) -> int:
    """Reduce a failing trial as far as possible: the fewest faults, then shorter, earlier and simpler ones."""
    options = given.options()
    path = located(trial, options.out_dir)
    plan, mode = moved(read_plan(path), broker)
    _assert_one(plan, trial)
    spec = with_settings(plan.trials[0], user_settings.parsed(given.setting or (), [plan.trials[0].client]))
    spec = with_load(spec, own_load.parsed(given.load or ()))
    plan = Plan(plan.seed, (spec,))
    for sentence in setting_warnings.known_before(plan.trials):
        say(sentence)
    typed_settings.again(shlex.split(command or ""), plan)
    validate_plan.check(plan, mode)
    own_commands.allow([spec.client], allow_command, say, options.client_env)
    [spec] = own_commands.with_env(plan, options.client_env).trials
    wanted = _wanted(path, anomaly)
    # Install before the folder is created: an unknown version should leave nothing on disk.
    clients = install(spec.clients, environment.named(options.client_env)) if mode == Mode.LIVE else {}
    store = RunStore.create(options.out_dir, new_record(Plan(plan.seed, ()), options))
    say(f"run {store.folder}: {_faults(spec)} of {spec.trial}, {some(options.jobs, 'trial')} at a time")
    tiers = () if faults_only else TIERS
    starts = STARTS if mode == Mode.LIVE else 1
    with live_run(store, clients, options) if mode == Mode.LIVE else simulated_run(store, options) as run:
        batches = TrialBatches(run, options.jobs)
        shrinker = Shrinker(spec, wanted, _allowed_in(mode), batches, tiers, attempts, starts, say)
        stopped_by = carry_out(run, shrinker.run())
    return _conclude(shrinker, store, options, stopped_by)


def _assert_one(plan: Plan, trial: str) -> None:
    if len(plan.trials) != 1:
        raise UsageError(
            "not-one-trial",
            "shrink takes one trial; {trial} has {count}",
            trial=trial,
            count=len(plan.trials),
        )


def _wanted(path: Path, anomaly: str | None) -> list[str]:
    """Return the anomalies to look for. Raise UsageError if the stored verdict has no failure, or not this anomaly."""
    verdict_path = path.with_name(VERDICT)
    if path.name != TRIAL or not present(verdict_path):
        return [anomaly] if anomaly else []
    verdict = read_json(verdict_path, TrialVerdict)
    if not (found := anomalies(verdict)):
        raise UsageError(
            "trial-did-not-fail",
            "{trial} did not fail: it is {verdict}; there is nothing to shrink",
            trial=verdict.trial,
            verdict=verdict.verdict,
        )
    if anomaly is not None and anomaly not in found:
        raise unknown(f"anomaly of {verdict.trial}", anomaly, found)
    return [anomaly] if anomaly else list(found)


def _allowed_in(mode: Mode) -> Allowed:
    def allowed(spec: TrialSpec) -> bool:
        try:
            validate_plan.check(Plan(spec.seed, (spec,)), mode)
        except UsageError:
            return False
        return True

    return allowed


def _conclude(shrinker: Shrinker, store: RunStore, options: Options, stopped_by: int | None) -> int:
    """Store the smallest trial, report what was shown about it, and return the exit code."""
    path = store.folder / MINIMAL
    if shrinker.anomaly:
        write_json(path, typed_settings.stored_spec(_named(shrinker)))
    for sentence in _sentences(shrinker, path, stopped_by):
        say(sentence)
    if options.as_json:
        print_json(_document(shrinker, store, path))
    if stopped_by is not None:
        return 128 + stopped_by
    is_done = shrinker.confirmed is not None or shrinker.minimal != shrinker.original
    return 0 if shrinker.anomaly and is_done else 4


def _named(shrinker: Shrinker) -> TrialSpec:
    """Return the smallest trial with a name of its own."""
    original = shrinker.original.trial.removeprefix(PREFIX)
    return replace(shrinker.minimal, trial=made_of(PREFIX + original), attempt=1)


def _sentences(shrinker: Shrinker, path: Path, stopped_by: int | None) -> Iterator[str]:
    ended = "interrupted" if stopped_by is not None else "its time was used up" if shrinker.ran_out else ""
    if shrinker.anomaly:
        yield from _what_is_left(shrinker, ended)
        client = shrinker.original.client
        yield f"replay: {replay_command(path, is_command=bool(client.command), env=client.env)}"
        return
    attempts = shrinker.batches.stats(shrinker.original).told
    yield f"the failure did not occur again in {some(len(attempts), 'attempt')}{f' ({ended})' if ended else ''}"
    if others := sorted({each for verdict in attempts for each in anomalies(verdict)}):
        yield f"it found {', '.join(others)}; select an anomaly with --anomaly"
    yield f"evidence: {path.parent}"


def _what_is_left(shrinker: Shrinker, ended: str) -> Iterator[str]:
    minimal, original = shrinker.minimal, shrinker.rate(shrinker.original)
    rate = shrinker.confirmed or shrinker.rate(minimal)
    yield f"{shrinker.original.client}: {shrinker.anomaly}"
    yield (
        f"{_faults(shrinker.original)} to {len(minimal.faults)} in {some(shrinker.batches.trials, 'trial')} over "
        f"{some(shrinker.rounds, 'round')}; the {'minimal' if shrinker.confirmed else 'smallest'} schedule failed "
        f"{_of(rate)} (the original {_of(original)})"
    )
    for fault in minimal.faults:
        yield f"    {told(fault)}"
    element = registry.workload(minimal.workload.kind).element
    yield f"    {some(minimal.workload.records, element)} of {shrinker.original.workload.records:,}"
    if ended:
        yield f"{ended}: it may get smaller"
    elif minimal.faults and shrinker.is_one_minimal:
        yield f"1-minimal: without any one of its faults it did not fail in {some(shrinker.attempts, 'attempt')}"
    elif not minimal.faults:
        yield "it fails without any fault"


def _document(shrinker: Shrinker, store: RunStore, path: Path) -> dict[str, Any]:
    minimal = shrinker.minimal
    return {
        "run": str(store.folder),
        "anomaly": shrinker.anomaly or None,
        "trials": shrinker.batches.trials,
        "rounds": shrinker.rounds,
        "attempts": shrinker.attempts or None,
        "complete": shrinker.confirmed is not None,
        "original": {"faults": len(shrinker.original.faults), **asdict(shrinker.rate(shrinker.original))},
        "minimal": {
            "file": str(path),
            "faults": len(minimal.faults),
            **asdict(shrinker.confirmed or shrinker.rate(minimal)),
            "one_minimal": shrinker.confirmed is not None and shrinker.is_one_minimal,
            "spec": typed_settings.stored_spec(_named(shrinker)),
        }
        if shrinker.anomaly
        else None,
    }


def told(fault: FaultSpec) -> str:
    """Return one line about a fault: its kind, start, duration and parameters."""
    brokers = f" on broker {', '.join(map(str, fault.brokers))}" if fault.brokers else ""
    params = "".join(f", {name} {value}" for name, value in fault.params.items())
    return f"{fault.kind}{brokers} for {fault.duration_ms} ms, {_when(fault.start)}{params}"


def _when(start: Trigger) -> str:
    match start:
        case AtTime():
            return f"from {start.ms} ms of load on"
        case OnFrame():
            return f"from {start.api} {start.direction} {start.nth} after {start.after_ms} ms of load on"
        case OnClientEvent():
            return f"from the client's {start.what} {start.nth} after {start.after_ms} ms of load on"
        case OnPhase():
            return f"from the beginning of {start.phase} on"


def _faults(spec: TrialSpec) -> str:
    return some(len(spec.faults), "fault")


def _of(rate: Rate) -> str:
    return f"{rate.failed} of {some(rate.tried, 'time')}"
