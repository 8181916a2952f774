"""Checks, scenarios and error codes: one page each, from the registry (``faults`` makes the page of the faults)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import getdoc
from typing import Any

from harness.cli.explained import page_of
from harness.plugins import registry
from harness.plugins.check import Check
from harness.plugins.scenario import Scenario
from harness.text.counting import some
from harness.wire.error_table import ERRORS
from pages.markdown import NOTE, table
from pages.requirements import link
from suites.checks.trace.never_arises import NEVER
from suites.requirements.coverage import checks_by_id, properties_by_id

SCENARIOS = """\
A scenario exercises the behaviours whose situations it creates on purpose. Each is listed with the checks
that judge it in the scenario's trials, or otherwise with the suites of properties that test it on the reference client.
In addition, every [check](checks.md) judges all that it can in every trial, whatever its scenario. A behaviour can hold
only if its situation arose in the trial; otherwise it is not exercised.

Cluster and client must have what a scenario needs. With too few brokers its trials are unsupported before anything
runs; with one request in flight, as soon as the client has reported that.
"""
NEVER_EXERCISED = """\
Exercised by no scenario, and judged only by properties:
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    return {
        "checks.md": chapter("Checks", "checks", _check),
        "scenarios.md": chapter("Scenarios", "scenarios", _scenario, f"{SCENARIOS}\n{_never()}"),
        "errors.md": _errors(),
    }


def chapter(title: str, group: str, section: Any, opening: str = "") -> str:
    """Return a page with an opening and a section for every entry of a group."""
    parts = [f"# {title}\n", NOTE, *([opening] if opening else [])]
    for name, entry in registry.table(group).items():
        parts += [f"## {name}\n", f"{entry.summary}\n", section(entry)]
    return "\n".join(parts)


def without_headings(page: str) -> str:
    """Return a docstring's page as the text of a section: without its title, and with bold words as headings."""
    lines = [line for line in page.strip().splitlines() if not line.startswith("# ")]
    return (
        "\n".join(f"**{line.lstrip('# ')}**" if line.startswith("#") else line for line in lines).strip()
        + "\n"
    )


def _check(check: Check) -> str:
    ids = ", ".join(f"{link(requirement.id)} ({requirement.level})" for requirement in check.requirements)
    facts = (
        ("requirements", ids),
        ("guarantees", ", ".join(sorted(check.guarantees))),
        ("evidence", ", ".join(sorted(check.requires))),
        ("shown to work by", f"`{check.killed_mutant}`"),
    )
    return table(("", ""), facts) + "\n" + without_headings(page_of(check))


def _scenario(scenario: Scenario) -> str:
    load = scenario.workload
    facts = (
        ("exercises", "; ".join(f"{link(id)} ({_judged_by(id)})" for id in scenario.exercises)),
        ("guarantees", ", ".join(scenario.guarantees)),
        ("modes", ", ".join(sorted(scenario.modes))),
        ("needs", ", ".join(scenario.needs) or "nothing special"),
        (
            "workload",
            f"{some(load.records, 'record')} of {load.value_bytes} bytes, {some(load.partitions, 'partition')}, "
            f"{load.load_ms} ms",
        ),
        ("its fault is shown by", " ".join((getdoc(scenario.consequence) or "").split())),
    )
    return table(("", ""), facts)


def _never() -> str:
    """Return the behaviours of the trace checks that no scenario exercises."""
    return (
        NEVER_EXERCISED + "\n" + table(("behaviour", "why"), ((link(id), why) for id, why in NEVER.items()))
    )


def _judged_by(requirement: str) -> str:
    """Return the checks that judge a behaviour, or else the suites of properties that do."""
    by_check, by_property = _judges()
    checks = by_check.get(requirement, ())
    suites = sorted({prop.partition("/")[0] for prop in by_property.get(requirement, ())})
    return ", ".join(checks) or f"properties: {', '.join(suites)}"


@cache
def _judges() -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]:
    """Return the checks and the properties of each behaviour."""
    return checks_by_id(), properties_by_id()


def _errors() -> str:
    rows = [
        (e.code, e.name, "yes" if e.retriable else "", "yes" if e.invalid_metadata else "", e.produced, e.why)
        for e in ERRORS.values()
    ]
    head = ("code", "name", "retriable", "stale metadata", "a record so answered", "why")
    return f"# Error codes\n\n{NOTE}\n{table(head, rows)}"
