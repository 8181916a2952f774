"""``kafka-trial explain``: print the published page of a fault, check, scenario, client, broker, verdict or error."""

from __future__ import annotations

import sys
from inspect import getdoc
from itertools import product
from textwrap import fill
from typing import Annotated, Any

import typer

from harness.cli import completion, error_codes
from harness.cli.output import print_json, put
from harness.judging import availability
from harness.judging.judge import relevant
from harness.model.errors import unknown
from harness.model.verdicts import Verdict
from harness.plugins import registry
from harness.plugins.check import Check
from harness.plugins.fault import FaultKind
from harness.plugins.scenario import Scenario
from harness.text.escaping import for_logs, safe_lines

WIDTH = 120
VERDICTS = {
    Verdict.PASS: "Every requirement that was judged holds, and the fault was seen to take effect.",
    Verdict.FAIL: "At least one requirement is violated; the findings show the rows.",
    Verdict.DIFFERS: "No MUST is broken, but the client does not do what a SHOULD asks for.",
    Verdict.EXPECTED_FAIL: "It fails as the list of known failures says it does.",
    Verdict.UNEXPECTED_PASS: "It is listed as a known failure and passes: the list must be corrected.",
    Verdict.NOT_EXERCISED: "Nothing was wrong, but the fault was not seen to take effect: this proves nothing.",
    Verdict.INCONCLUSIVE: "The trial was disturbed (by an overloaded machine, for instance): this proves nothing.",
    Verdict.UNSUPPORTED: "The client declares that it does not support this.",
    Verdict.HARNESS_ERROR: "The harness, the environment or the adapter failed: this says nothing about the client.",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A name from `list`, a requirement id, a verdict, or the code of an error.",
            autocompletion=completion.names(*completion.SELECTABLE),
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Explain a fault, check, scenario, client, broker, requirement id, verdict or error code."""
    pages = _pages()
    if name not in pages:
        pages[name] = _errors(name)
        if not pages[name]:
            raise unknown("id", name, _pages())
    if as_json:
        print_json({"name": name, "text": pages[name]})
    else:
        put(for_logs(safe_lines(pages[name])).encode() + b"\n")
    return 0


def _pages() -> dict[str, str]:
    pages = {str(verdict): f"{verdict}\n\n{text}" for verdict, text in VERDICTS.items()}
    pages["availability"] = getdoc(availability) or ""
    for group in ("brokers", "clients", "faults", "checks", "scenarios"):
        for name, entry in registry.table(group).items():
            facts = _facts(entry) if group == "faults" else ""
            pages[name] = f"{name} ({group[:-1]})\n\n{entry.summary}\n\n{facts}{_body(entry)}".rstrip()
    for check in registry.checks().values():
        for requirement in check.requirements:
            title = f"{requirement.id} ({requirement.level})\n"
            page = pages.setdefault(requirement.id, title)
            pages[requirement.id] = f"{page}\njudged by the check {check.name!r}: {check.summary}"
    for name, scenario in registry.table("scenarios").items():
        for id in scenario.exercises:
            pages[id] = pages.get(id, f"{id}\n") + f"\nexercised by the scenario {name!r}: {scenario.summary}"
    return pages


def page_of(entry: Any) -> str:
    """Return the published page of a fault, check or other registered object: the docstring of its module."""
    module = sys.modules[entry.run.__module__ if isinstance(entry, Check) else type(entry).__module__]
    return getdoc(module) or ""


def _errors(code: str) -> str:
    """Return the sentences of the errors with a code, and where each is raised; empty if there is no such code."""
    found = [call for call in error_codes.calls(error_codes.sources(f'"{code}"')) if call.code == code]
    lines = [f"{call.template}\n  {call.maker}, {call.place}" for call in found]
    return "\n".join((f"{code} (error)\n", *lines)) if found else ""


def _facts(kind: FaultKind) -> str:
    """Return what a plan needs to know about a fault: its modes, who sees it, and each parameter."""
    params = [f"  {p.name}: {p.low} to {p.high}, {p.default} if not given: {p.what}" for p in kind.params]
    lines = (
        f"modes: {', '.join(sorted(kind.modes))}",
        f"seen by: {', '.join(kind.seen_by)}",
        "parameters:" if params else "parameters: none",
        *params,
    )
    return "\n".join(lines) + "\n\n"


def _body(entry: Any) -> str:
    if isinstance(entry, Scenario):
        return (
            f"exercises: {', '.join(entry.exercises)}\nguarantees: {', '.join(entry.guarantees)}\n"
            f"workload: {entry.workload.kind}, {entry.workload.records} elements in {entry.workload.load_ms} ms\n"
            f"shows by: {getdoc(entry.consequence)}\n\n"
            f"judged besides:\n{_wrapped(sorted(_judged(entry) - set(entry.exercises)))}"
        )
    return page_of(entry)


def _judged(scenario: Scenario) -> set[str]:
    asked = product(registry.checks().values(), scenario.guarantees)
    return {
        each.id for check, guarantee in asked for each in relevant(check, guarantee, scenario.workload.kind)
    }


def _wrapped(names: list[str]) -> str:
    return fill(", ".join(names), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
