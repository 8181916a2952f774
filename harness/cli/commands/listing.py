"""``kafka-trial list``: the names of the available parts, with their summaries."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Annotated, Any

import typer

from harness.cli import completion
from harness.cli.examples import examples
from harness.cli.options import AsJson
from harness.cli.output import print_json, put
from harness.model.errors import unknown
from harness.plugins import registry
from harness.plugins.check import Check
from harness.plugins.client import ClientKind
from harness.plugins.cluster import BrokerKind
from harness.plugins.fault import FaultKind
from harness.plugins.mutant import PREFIX, Mutant
from harness.plugins.scenario import Scenario
from harness.plugins.workload import WorkloadKind
from harness.text.escaping import for_logs, safe_line
from harness.text.globs import matches

Row = dict[str, Any]
#: A description needs this many columns beside its name; with fewer, it is on the lines below.
LEAST_COLUMNS = 40
INDENT = "    "


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
    what: Annotated[str, typer.Argument(help=", ".join(COLUMNS), autocompletion=completion.among(COLUMNS))],
    pattern: Annotated[
        list[str] | None, typer.Argument(help="Only these names or globs; default: all.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List clients, mutants, brokers, faults, scenarios, checks or workloads.

    In a pipe, each entry is one line: its name and its fields, separated by tabs.
    """
    if what not in COLUMNS:
        raise unknown("list", what, COLUMNS)
    rows = [
        {"name": name} | COLUMNS[what](entry) for name, entry in _matching(what, pattern or ["*"]).items()
    ]
    if as_json:
        print_json(rows)
    else:
        is_seen = sys.stdout.isatty()
        lines = for_terminal(rows, shutil.get_terminal_size().columns) if is_seen else piped(rows)
        put(for_logs("".join(f"{line}\n" for line in lines)).encode())
    return 0


def piped(rows: Sequence[Row]) -> Iterator[str]:
    """Yield one line per row, with tabs between its fields. Nothing is cut."""
    for row in rows:
        yield "\t".join(safe_line(_text(value)) for value in row.values())


def for_terminal(rows: Sequence[Row], columns: int) -> Iterator[str]:
    """Yield lines for a terminal: names are whole, and descriptions are wrapped beside or below them."""
    longest = max((len(safe_line(row["name"])) for row in rows), default=0)
    is_beside = columns - longest - 2 >= LEAST_COLUMNS
    for row in rows:
        name, indent = safe_line(row["name"]), " " * (longest + 2) if is_beside else INDENT
        described = [line for text in _described(row) for line in _wrapped(text, columns - len(indent))]
        if is_beside:
            yield f"{name:<{longest}}  {described.pop(0)}"
        else:
            yield name
        yield from (f"{indent}{line}" for line in described)


def _described(row: Row) -> Iterator[str]:
    """Yield what a row says besides the name: its sentence, and its other fields in one line."""
    told = {key: _text(value) for key, value in row.items() if key != "name" and _text(value)}
    sentence = told.pop("summary", None) or told.pop("defect", "")
    yield safe_line(sentence)
    if told:
        yield safe_line("; ".join(f"{key.replace('_', ' ')}: {value}" for key, value in told.items()))


def _wrapped(text: str, columns: int) -> list[str]:
    return wrap(text, max(columns, 1), break_on_hyphens=False, break_long_words=False) or [""]


def _matching(what: str, patterns: Sequence[str]) -> dict[str, Any]:
    """Return the entries that match a pattern. Raise UsageError for a pattern that matches none."""
    entries = _entries(what)
    for pattern in patterns:
        if entries and not any(matches(name, pattern) for name in entries):
            raise unknown(what.removesuffix("s"), pattern, entries)
    return {name: each for name, each in entries.items() if any(matches(name, p) for p in patterns)}


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
