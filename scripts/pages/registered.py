"""Checks, scenarios and error codes: a chapter each, from what is registered; ``faults`` has that of the faults."""

from __future__ import annotations

from inspect import getdoc
from typing import Any

from harness.cli.commands.explain import page_of
from harness.plugins import registry
from harness.plugins.check import Check
from harness.plugins.scenario import Scenario
from harness.wire.error_table import ERRORS
from pages.markdown import NOTE, table
from pages.requirements import link
from suites.checks.trace.never_arises import NEVER
from suites.requirements.coverage import checks_by_id, properties_by_id

SCENARIOS = """What a scenario exercises are the behaviours that it brings about on purpose, each with the checks that
judge it in its trials, or, where none does, the suites whose properties try it on the reference client. Beside those,
whatever a [check](checks.md) can judge is judged in every trial, whatever its scenario is about. A behaviour is held
where its situation arose in the trial; elsewhere it is not exercised.

What a scenario needs is asked of cluster and client: with fewer brokers its trials are unsupported before anything
runs, with one request in flight as soon as the client has said so.
"""
NEVER_EXERCISED = """Never exercised here, and judged by properties alone:
"""


def pages() -> dict[str, str]:
    """File below ``docs/reference/`` -> its text."""
    return {
        "checks.md": chapter("Checks", "checks", _check),
        "scenarios.md": chapter("Scenarios", "scenarios", _scenario, f"{SCENARIOS}\n{_never()}"),
        "errors.md": _errors(),
    }


def chapter(title: str, group: str, section: Any, opening: str = "") -> str:
    """A page with a section for every entry of a group, behind what opens it."""
    parts = [f"# {title}\n", NOTE, *([opening] if opening else [])]
    for name, entry in registry.table(group).items():
        parts += [f"## {name}\n", f"{entry.summary}\n", section(entry)]
    return "\n".join(parts)


def without_headings(page: str) -> str:
    """A docstring's page as the text of a section: its title is the section's, its own headings are bold words."""
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
        ("shown to bite by", f"`{check.killed_mutant}`"),
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
            f"{load.records} records of {load.value_bytes} bytes, {load.partitions} partitions, {load.load_ms} ms",
        ),
        ("its fault shows by", " ".join((getdoc(scenario.consequence) or "").split())),
    )
    return table(("", ""), facts)


def _never() -> str:
    """The behaviours of the trace checks that no trial is about."""
    return (
        NEVER_EXERCISED + "\n" + table(("behaviour", "why"), ((link(id), why) for id, why in NEVER.items()))
    )


def _judged_by(requirement: str) -> str:
    """The checks that judge a behaviour, else the suites of properties that do."""
    checks = checks_by_id().get(requirement, ())
    suites = sorted({prop.partition("/")[0] for prop in properties_by_id().get(requirement, ())})
    return ", ".join(checks) or f"properties: {', '.join(suites)}"


def _errors() -> str:
    rows = [
        (e.code, e.name, "yes" if e.retriable else "", "yes" if e.invalid_metadata else "", e.produced, e.why)
        for e in ERRORS.values()
    ]
    head = ("code", "name", "retriable", "stale metadata", "a record so answered", "why")
    return f"# Error codes\n\n{NOTE}\n{table(head, rows)}"
