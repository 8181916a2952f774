"""``kafka-trial replay``: run one trial again, in the mode of its broker."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from harness.adapter import environment
from harness.brokers.scripted.releases import release
from harness.cli import options as shared
from harness.cli.console import say
from harness.cli.examples import examples
from harness.cli.options import Options
from harness.cli.reproduction import Reproduction
from harness.cli.results import More
from harness.cli.run_plan import carry_out, new_record, publish, tell_plan
from harness.cli.selecting import OtherBroker, OwnCommand
from harness.files import present, read_named, read_stored
from harness.files.row_files import read_json
from harness.judging import repeats
from harness.limits.memory import PLAN_BYTES, Crowded, Room
from harness.model.errors import UsageError, unknown
from harness.model.mode import Mode
from harness.model.rows import TrialVerdict
from harness.model.run_files import RUN, TRIAL, VERDICT
from harness.model.spec import OWN, Plan, TrialSpec
from harness.model.verdicts import Level, Verdict, exit_code
from harness.planning import own_commands, selection, typed_settings, validate_plan
from harness.running import announced
from harness.running.budget import Budget
from harness.running.install import Installed, install
from harness.search.trial_batches import simulate
from harness.simulated.judged import is_simulated
from harness.simulated.selection import assert_simulated
from harness.simulated.trial import broker_of
from harness.storage.latest import resolved
from harness.storage.run_store import RunStore
from harness.text.counting import some

Trial = Annotated[
    str,
    typer.Argument(
        help="A trial's folder, its id (in the newest run that has it), a JSON file with it, or - for stdin."
    ),
]
STDIN = Path("-")
#: From trial.json to its run: the trial, ``trials``, the run.
TRIALS_DEPTH = 2

EXAMPLES = examples(
    "kafka-trial replay runs/latest/trials/TRIAL",
    "kafka-trial replay TRIAL --repeat 10",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", epilog=EXAMPLES)(replay)


def replay(
    trial: Trial,
    broker: OtherBroker = None,
    allow_command: shared.AllowCommand = False,
    repeat: shared.Repeat = 1,
    jobs: shared.Jobs = shared.AUTO,
    max_time: shared.MaxTime = None,
    client_env: shared.ClientEnv = None,
    capture: shared.Capture = False,
    out_dir: shared.OutDir = shared.DEFAULT_OUT,
    dry_run: shared.DryRun = False,
    as_json: shared.AsJson = False,
    quiet: shared.Quiet = False,
    strict: shared.Strict = False,
    command: OwnCommand = None,
) -> int:
    """Run a trial again, or all trials of a plan, simulated or live depending on the broker, and judge it.

    It says whether the stored verdict was reproduced, and what differs. If a client's command was stored without its
    secrets, give it again: `kafka-trial replay TRIAL -- COMMAND ...`.
    """
    options = Options(
        shared.jobs_of(jobs),
        out_dir,
        dry_run=dry_run,
        as_json=as_json,
        quiet=quiet,
        capture=capture,
        strict=strict,
        max_time_s=shared.max_time_of(max_time),
        client_env=tuple(client_env or ()),
    )
    path = located(trial, out_dir)
    plan, mode = moved(read_plan(path), broker)
    typed_settings.again(shlex.split(command or ""), plan)
    if repeat > 1:
        plan = repeats.repeated(plan, repeat)
    validate_plan.check(plan, mode)
    own_commands.allow((spec.client for spec in plan.trials), allow_command, say, options.client_env)
    plan = own_commands.with_env(plan, options.client_env)
    options = replace(options, level=level_of(path))
    if capture and mode != Mode.LIVE:
        raise UsageError("capture-of-simulated", "a simulated trial has no packets to capture")
    if dry_run:
        return tell_plan(plan, options)
    if mode == Mode.LIVE:
        plan = _as_announced(plan, options)
    told = Reproduction(stored_verdict(path))
    code = _run(plan, mode, options, told.document)
    for sentence in told.sentences:
        say(sentence)
    return code


def stored_verdict(path: Path) -> TrialVerdict | None:
    """Return the verdict beside a trial's file, or None if it has none that can be read."""
    verdict = path.with_name(VERDICT)
    if path.name != TRIAL or not present(verdict):
        return None
    try:
        return read_json(verdict, TrialVerdict)
    except UsageError as error:
        say(f"warning: the stored verdict is not compared: {error}")
        return None


def level_of(path: Path) -> Level:
    """Return the level at which the run of a trial's file was judged; the usual one for any other file."""
    if path.name == TRIAL and len(path.parents) > TRIALS_DEPTH:
        with suppress(UsageError):
            return RunStore.open(path.parents[TRIALS_DEPTH]).record.level
    return Level.SHOULD


def _as_announced(plan: Plan, options: Options) -> Plan:
    """Return the plan with the versions that its commands announce now, and say which ones have changed."""
    stored = list(dict.fromkeys(spec.client for spec in plan.trials if spec.client.version != OWN))
    now = announced.with_versions(stored, environment.named(options.client_env))
    changed = {old: new for old, new in zip(stored, now, strict=True) if old != new}
    for old, new in changed.items():
        say(f"warning: {old} announces the version {new.version} now")
    trials = (
        msgspec.structs.replace(spec, client=changed.get(spec.client, spec.client)) for spec in plan.trials
    )
    return msgspec.structs.replace(plan, trials=tuple(trials))


def _run(plan: Plan, mode: Mode, options: Options, more: More) -> int:
    clients = {}
    if mode == Mode.LIVE:
        # Install before the folder is created: an unknown version should leave nothing on disk.
        clients = install(
            (ref for spec in plan.trials for ref in spec.clients), environment.named(options.client_env)
        )
    store = RunStore.create(options.out_dir, new_record(plan, options))
    if mode == Mode.LIVE:
        code = carry_out(store, Installed(clients, {}), options, more)
    else:
        code = _simulated(store, options, more)
    if any(spec.attempt > 1 for spec in plan.trials):
        _tell_attempts(store)
    return code


def located(trial: str, out_dir: Path) -> Path:
    """Return the file that the user named: a trial's folder, a file, - for stdin, or a trial by its id."""
    try:
        return _located(trial, resolved(Path(trial)), out_dir)
    except OSError as error:
        raise UsageError(
            "cannot-read", "cannot look for trial {path}: {why}", why=error.strerror or error, path=trial
        ) from error


def _located(trial: str, path: Path, out_dir: Path) -> Path:
    if trial == "-" or (path.exists() and not path.is_dir()):
        return path
    if path.is_dir() and present(path / TRIAL):
        return path / TRIAL
    if path.is_dir() and present(path / RUN):
        raise UsageError(
            "run-not-trial",
            "{trial} is a run; name one of its trials, which are in {path}",
            trial=trial,
            path=path / "trials",
        )
    if "/" in trial or path.is_dir():
        raise UsageError(
            "no-trial-there", "{trial} contains no trial: {file} is missing", trial=trial, file=TRIAL
        )
    runs = sorted((file.parent for file in out_dir.glob(f"*/{RUN}")), reverse=True)
    for run in runs:
        with suppress(OSError):  # a run with a link or a file instead of a folder does not have the trial
            if present(found := run / "trials" / trial / TRIAL, run):
                return found
    known = {file.parent.name for run in runs for file in run.glob(f"trials/*/{TRIAL}")}
    if not known:
        raise UsageError(
            "no-trial-there",
            "{trial} is not a file, and {out_dir} has no trials",
            trial=trial,
            out_dir=out_dir,
        )
    raise unknown("trial", trial, known)


def read_plan(path: Path) -> Plan:
    """Return the trials in a file or on stdin: ``trial.json``, a spec, or a plan. Raise UsageError for others."""
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read()
        else:
            data = read_stored(path) if path.name == TRIAL else read_named(path)
        Room(PLAN_BYTES).take(data)
        document: Any = msgspec.json.decode(data)
        if not isinstance(document, dict):
            raise UsageError("no-trial-there", "{path} contains no trial: not a JSON object", path=path)
        if "trials" in document:
            return msgspec.convert(document, Plan)
        spec = msgspec.convert(document.get("spec", document), TrialSpec)
    except OSError as error:
        raise UsageError(
            "no-trial-there", "{path} contains no trial: {why}", path=path, why=error.strerror or error
        ) from error
    except (Crowded, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("no-trial-there", "{path} contains no trial: {why}", path=path, why=error) from error
    return Plan(spec.seed, (spec,))


def moved(plan: Plan, broker: str | None) -> tuple[Plan, Mode]:
    """Return the plan, on another broker if one is named, and its mode. Raise UsageError if no mode can run it."""
    if broker is not None:
        plan = Plan(plan.seed, tuple(msgspec.structs.replace(spec, broker=broker) for spec in plan.trials))
    modes = {Mode.SIMULATED if is_simulated(spec) else Mode.LIVE for spec in plan.trials}
    if len(modes) != 1:
        raise UsageError(
            "plan-not-replayable",
            "a plan for replay must have at least one trial, and only trials of one mode",
        )
    [mode] = modes
    for spec in plan.trials:
        _check(spec, mode)
    return plan, mode


def _check(spec: TrialSpec, mode: Mode) -> None:
    if mode == Mode.LIVE:
        selection.brokers([spec.broker])
        return
    version, _ = broker_of(spec.broker)
    release(version)
    assert_simulated(spec.client)


def _simulated(store: RunStore, options: Options, more: More) -> int:
    with store.claimed():
        asyncio.run(simulate(store, Budget(max_time_s=options.max_time_s)))
        verdicts = publish(store, "completed", options, more)
    code = exit_code((Verdict(verdict.verdict) for verdict in verdicts), strict=options.strict)
    say(f"evidence: {store.folder}; exit {code}")
    return code


def _tell_attempts(store: RunStore) -> None:
    """Print how often each trial failed, of the attempts that were run."""
    verdicts = {verdict.trial: verdict.verdict for verdict in store.verdicts()}
    tried: dict[str, list[str]] = defaultdict(list)
    for spec in store.record.plan.trials:
        if spec.trial in verdicts:
            tried[repeats.first_name(spec)].append(verdicts[spec.trial])
    for name, each in tried.items():
        failed = sum(verdict in repeats.ACCUSATIONS for verdict in each)
        say(f"{name} failed in {failed} of {some(len(each), 'attempt')}")
