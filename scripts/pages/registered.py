"""Faults, checks, scenarios and error codes: a chapter each, from what is registered."""

from __future__ import annotations

from inspect import getdoc
from typing import Any

from harness import registry
from harness.check import Check
from harness.cli.explain import page_of
from harness.ports import FaultKind
from harness.scenario import Scenario
from harness.wire.error_table import ERRORS
from pages.markdown import NOTE, table


def pages() -> dict[str, str]:
    """File below ``docs/`` -> its text."""
    return {
        "faults.md": _chapter("Faults", "faults", _fault),
        "checks.md": _chapter("Checks", "checks", _check),
        "scenarios.md": _chapter("Scenarios", "scenarios", _scenario),
        "errors.md": _errors(),
    }


def _chapter(title: str, group: str, section: Any) -> str:
    parts = [f"# {title}\n", NOTE]
    for name, entry in registry.table(group).items():
        parts += [f"## {name}\n", f"{entry.summary}\n", section(entry)]
    return "\n".join(parts)


def _lowered(page: str) -> str:
    """A page's own headings, one level below the chapter's."""
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in page.splitlines()) + "\n"


def _fault(kind: FaultKind) -> str:
    rows = [(f"`{p.name}`", p.default, f"{p.low} to {p.high}", p.what) for p in kind.params]
    params = table(("parameter", "default", "range", "what"), rows) if rows else "No parameters.\n"
    return f"Worlds: {', '.join(sorted(kind.worlds))}.\n\n{params}\n{_lowered(page_of(kind))}"


def _check(check: Check) -> str:
    ids = ", ".join(f"{requirement.id} ({requirement.level})" for requirement in check.requirements)
    facts = (
        ("requirements", ids),
        ("guarantees", ", ".join(sorted(check.guarantees))),
        ("evidence", ", ".join(sorted(check.channels))),
        ("shown to bite by", f"`{check.mutant}`"),
    )
    return table(("", ""), facts) + "\n" + _lowered(page_of(check))


def _scenario(scenario: Scenario) -> str:
    load = scenario.workload
    facts = (
        ("guarantees", ", ".join(scenario.guarantees)),
        ("requirements", ", ".join(scenario.requirements)),
        (
            "workload",
            f"{load.records} records of {load.value_bytes} bytes, {load.partitions} partitions, {load.load_ms} ms",
        ),
        ("its fault shows by", " ".join((getdoc(scenario.consequence) or "").split())),
    )
    return table(("", ""), facts)


def _errors() -> str:
    rows = [
        (e.code, e.name, "yes" if e.retriable else "", "yes" if e.invalid_metadata else "", e.produced, e.why)
        for e in ERRORS.values()
    ]
    head = ("code", "name", "retriable", "stale metadata", "a record so answered", "why")
    return f"# Error codes\n\n{NOTE}\n{table(head, rows)}"
