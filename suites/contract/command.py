"""``kafka-trial check-adapter``: whether a program follows the contract, so that its verdicts may count."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion
from harness.cli.console import console, say
from harness.cli.examples import examples
from harness.cli.options import AsJson, Quiet
from harness.cli.output import print_json
from harness.cli.selecting import Clients, OwnCommand, OwnName
from harness.model.errors import NothingSelected, unknown
from harness.planning import selection
from harness.plugins import registry
from harness.provision.caches import writable
from harness.running import announced
from harness.running.install import install
from harness.text.counting import some
from suites.contract.cases import CASES
from suites.contract.runner import CaseResult, check_contract

EXAMPLES = examples(
    "kafka-trial check-adapter -c confluent-kafka",
    "kafka-trial check-adapter -- ./my-adapter --fast",
)


def register(app: typer.Typer) -> None:
    """Add the command (entry-point group ``kafka_trial.commands``)."""
    app.command("check-adapter", epilog=EXAMPLES)(check_adapter)


def check_adapter(
    client: Clients = None,
    case: Annotated[
        list[str] | None, typer.Option(help=f"Only this case; repeatable: {', '.join(CASES)}.")
    ] = None,
    workload: Annotated[
        str,
        typer.Option(
            "-w",
            "--workload",
            help="What the client is asked to do; see list workloads.",
            autocompletion=completion.names("workloads"),
        ),
    ] = "produce",
    logs: Annotated[
        Path | None, typer.Option(help="Keep here what each case's process wrote to stderr.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    own_name: OwnName = None,
    command: OwnCommand = None,
) -> int:
    """Run the contract test suite on an adapter: `kafka-trial check-adapter -- COMMAND ...`, or on a client by name."""
    if not (client or command):
        raise NothingSelected(
            "no-adapter", "no adapter is named; put its command after --, or name a client with -c"
        )
    for name in case or ():
        if name not in CASES:
            raise unknown("case", name, CASES)
    registry.workload(workload)
    found: dict[str, list[CaseResult]] = {}
    refs = selection.clients(client or (), shlex.split(command or ""), own_name)
    for ref, ready in install(announced.with_versions(refs)).items():
        folder = logs / str(ref) if logs else None
        if folder:
            writable(folder)
        found[str(ref)] = results = asyncio.run(
            check_contract(ready.launch, case or tuple(CASES), workload=workload, folder=folder)
        )
        _tell(str(ref), results, quiet)
    if as_json:
        print_json({name: [asdict(result) for result in results] for name, results in found.items()})
    well = all(result.passed for results in found.values() for result in results)
    if command:
        say(
            f"hint: {_try(workload, command, own_name) if well else '--logs FOLDER keeps what it wrote to stderr'}"
        )
    return 0 if well else 1


def _try(workload: str, command: str, own_name: str | None) -> str:
    of_it = [name for name, each in registry.table("scenarios").items() if each.workload.kind == workload]
    scenario = next((name for name in of_it if name.startswith(f"{workload}/")), "SCENARIO")
    named = f" --name {own_name}" if own_name else ""
    return f"try it on a broker: kafka-trial run {scenario}{named} -- {command}"


def _tell(name: str, results: list[CaseResult], quiet: bool) -> None:
    passed = sum(result.passed for result in results)
    for result in results:
        if quiet and result.passed:
            continue
        mark = "[green]✔[/]" if result.passed else "[bold red]✗[/]"
        console.print(f"{mark} {result.case}: ", end="")
        say(result.detail)
    say(f"{name}: {passed} of {some(len(results), 'case')} passed")
