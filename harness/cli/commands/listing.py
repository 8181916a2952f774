"""``kafka-trial list``: the names of the available parts, with their summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from harness.cli.console import answer
from harness.cli.examples import examples
from harness.cli.options import AsJson
from harness.cli.output import print_json
from harness.model.errors import unknown
from harness.plugins import registry
from harness.plugins.check import Check
from harness.plugins.client import ClientKind
from harness.plugins.cluster import BrokerKind
from harness.plugins.fault import FaultKind
from harness.plugins.mutant import PREFIX, Mutant
from harness.plugins.scenario import Scenario
from harness.plugins.workload import WorkloadKind
from harness.text.escaping import safe_line

Row = dict[str, Any]
#: Long texts are wrapped within their column, so that names and descriptions stay side by side.
WIDTH = 120


def _client(kind: ClientKind) -> Row:
    return {"language": kind.language, "default_version": kind.default_version, "summary": kind.summary}


def _mutant(mutant: Mutant) -> Row:
    return {"of": mutant.of, "caught_by": list(mutant.caught_by), "defect": mutant.defect}


def _broker(kind: BrokerKind) -> Row:
    return {"ids": list(kind.examples), "summary": kind.summary}


def _fault(kind: FaultKind) -> Row:
    params = {param.name: [param.low, param.high] for param in kind.params}
    return {"modes": sorted(kind.modes), "params": params, "summary": kind.summary}


def _scenario(scenario: Scenario) -> Row:
    return {
        "summary": scenario.summary,
        "exercises": list(scenario.exercises),
        "guarantees": list(scenario.guarantees),
        "needs": scenario.needs,
    }


def _check(check: Check) -> Row:
    return {
        "requirements": [f"{requirement.id} {requirement.level}" for requirement in check.requirements],
        "guarantees": sorted(check.guarantees),
        "mutant": check.killed_mutant,
        "summary": check.summary,
    }


def _workload(kind: WorkloadKind) -> Row:
    return {
        "api": kind.api,
        "guarantees": sorted(kind.features),
        "counts": list(kind.meaning),
        "summary": kind.summary,
    }


COLUMNS: dict[str, Callable[[Any], Row]] = {
    "clients": _client,
    "mutants": _mutant,
    "brokers": _broker,
    "faults": _fault,
    "scenarios": _scenario,
    "checks": _check,
    "workloads": _workload,
}

EXAMPLES = examples(
    "kafka-trial list scenarios",
    "kafka-trial list checks '*duplicate*'",
    "kafka-trial list clients --json",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list", epilog=EXAMPLES)(list_)


def list_(
    what: Annotated[str, typer.Argument(help=", ".join(COLUMNS))],
    as_json: AsJson = False,
) -> int:
    """List clients, mutants, brokers, faults, scenarios, checks or workloads."""
    if what not in COLUMNS:
        raise unknown("list", what, COLUMNS)
    rows = [{"name": name} | COLUMNS[what](entry) for name, entry in _entries(what).items()]
    if as_json:
        print_json(rows)
        return 0
    table = Table(box=None, pad_edge=False, width=WIDTH)
    for column in rows[0] if rows else ["name"]:
        table.add_column(column, no_wrap=column == "name", overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe_line(_text(value))) for value in row.values()))
    answer(table)
    return 0


def _entries(what: str) -> dict[str, Any]:
    """Return the table of a kind. Mutants are clients too, and listed by the names that they have as clients."""
    if what == "mutants":
        return {PREFIX + name: mutant for name, mutant in registry.table(what).items()}
    if what == "clients":
        return {name: registry.client(name) for name in registry.names(what) if not name.startswith(PREFIX)}
    return registry.table(what)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {low}..{high}" for name, (low, high) in value.items())
    return str(value)
