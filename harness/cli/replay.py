"""``kafka-trial replay``: run one trial again, in the world of its broker."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from harness import asked
from harness.brokers.scripted.releases import release
from harness.cli import select
from harness.cli.carrying import carry_out, new_record
from harness.cli.options import DEFAULT_OUT, MAX_JOBS, Options
from harness.cli.output import print_json, run_document
from harness.cli.screen import say, summary
from harness.errors import UsageError
from harness.installing import Installed, install
from harness.outcome import Verdict, exit_code
from harness.rows import TrialVerdict
from harness.simulated.judged import is_simulated, try_spec
from harness.simulated.trial import broker_of
from harness.spec import Plan, TrialSpec
from harness.store import TRIAL, RunStore


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay")(replay)


def replay(
    trial: Annotated[
        str, typer.Argument(help="A trial's folder, a file with a trial or a plan as JSON, or - .")
    ],
    broker: Annotated[
        str | None, typer.Option("-b", "--broker", help="On this one instead: KIND:ID.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("-j", "--jobs", min=1, max=MAX_JOBS, help="Live trials at a time.")
    ] = 1,
    capture: Annotated[
        bool, typer.Option("--capture", help="Also capture a live trial's packets, where that is allowed.")
    ] = False,
    out_dir: Annotated[Path, typer.Option(help="Where runs are kept.")] = DEFAULT_OUT,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Run a trial again, simulated or live as its broker is, and judge it."""
    plan = _read(trial)
    if broker is not None:
        moved = tuple(msgspec.structs.replace(spec, broker=broker) for spec in plan.trials)
        plan = Plan(plan.seed, moved)
    worlds = {"simulated" if is_simulated(spec) else "live" for spec in plan.trials}
    if len(worlds) != 1:
        raise UsageError("a plan for replay has at least one trial, and all of them in one world")
    [world] = worlds
    for spec in plan.trials:
        _check(spec, world)
    asked.check(plan, world)
    if world == "live":
        clients = install(spec.client for spec in plan.trials)
        options = Options(jobs, out_dir, as_json=as_json, capture=capture)
        store = RunStore.create(out_dir, new_record(plan, options))
        return carry_out(store, Installed(clients, {}), options)
    if capture:
        raise UsageError("a simulated trial has no packets to capture")
    store = RunStore.create(out_dir, new_record(plan, Options(1)))
    verdicts = [_simulated(store, spec) for spec in plan.trials]
    store.stop("completed")
    summary(verdicts)
    if as_json:
        print_json(run_document(store.folder, plan.seed, verdicts))
    code = exit_code(Verdict(verdict.verdict) for verdict in verdicts)
    say(f"evidence: {store.folder}; exit {code}")
    return code


def _simulated(store: RunStore, spec: TrialSpec) -> TrialVerdict:
    evidence, verdict = try_spec(spec)
    store.write_evidence(evidence)
    store.write_verdict(verdict)
    return verdict


def _read(trial: str) -> Plan:
    """The trials in a trial's folder, in a file or on stdin: ``trial.json``, a spec, or a plan."""
    path = Path(trial)
    if path.is_dir():
        path = path / TRIAL
    try:
        data = sys.stdin.buffer.read() if trial == "-" else path.read_bytes()
        document: Any = msgspec.json.decode(data)
        if not isinstance(document, dict):
            raise UsageError(f"{trial} holds no trial: not a JSON object")
        if "trials" in document:
            return msgspec.convert(document, Plan)
        spec = msgspec.convert(document.get("spec", document), TrialSpec)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{trial} holds no trial: {error}") from error
    return Plan(spec.seed, (spec,))


def _check(spec: TrialSpec, world: str) -> None:
    if world == "live":
        select.brokers([spec.broker])
        return
    version, _ = broker_of(spec.broker)
    release(version)
    select.simulated(spec.client)
