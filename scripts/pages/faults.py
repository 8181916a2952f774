"""The faults: a table of the controls that show each to bite and to leave others alone, then each kind's page."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from inspect import getdoc

from harness.cli.commands.explain import page_of
from harness.model.dice import Dice
from harness.plugins import registry
from harness.plugins.fault import FaultKind
from harness.plugins.scenario import Scenario
from pages.controls import Control, controls, twins
from pages.markdown import table
from pages.registered import chapter, without_headings

HEAD = (
    "kind",
    "modes",
    "seen by",
    "a hit, by the witness's rows",
    "positive control: seen by the client",
    "positive control: seen by the broker",
    "negative control: untouched",
    "control",
    "simulated twin",
)

#: So many schedules of a scenario are looked at for its kinds of fault.
SEEDS = 8

ABOUT = """\
Every kind has its controls among the tests, and `make test` runs them in live mode: real Toxiproxy and real
witness in front of a small server, or real brokers. What client and broker see is seen on the test's own sockets, or
asked of the brokers; neither the fault nor the witness is taken at its word. Untouched on a lane is whoever has every
answer as the server wrote it. (In these tests one Toxiproxy serves both lanes; in a run each lane has its own.) A
control whose name does not begin with `test_` is a step of the test in its file.

The simulated twin is the test that asserts the same kind in simulated mode.
"""


def pages() -> dict[str, str]:
    """File below ``docs/reference/`` -> its text."""
    return {"faults.md": chapter("Faults", "faults", _section, f"{ABOUT}\n{_table()}")}


def _table() -> str:
    kinds = registry.table("faults")
    return table(HEAD, (_row(kinds[control.kind], control) for control in controls()))


def _row(kind: FaultKind, control: Control) -> tuple[str, ...]:
    return (
        f"[{kind.name}](#{kind.name})",
        _worlds(kind),
        ", ".join(kind.seen_by),
        " ".join((getdoc(kind.hits) or "").split()),
        control.client,
        control.broker,
        control.untouched,
        control.place.link,
        _links(place.link for name, place in twins() if name == kind.name) or "none",
    )


def _section(kind: FaultKind) -> str:
    rows = [(f"`{p.name}`", p.default, f"{p.low} to {p.high}", p.what) for p in kind.params]
    params = table(("parameter", "default", "range", "what"), rows) if rows else "No parameters.\n"
    shown = _links(control.place.link for control in controls() if control.kind == kind.name)
    facts = (
        f"Worlds: {_worlds(kind)}. Seen by: {', '.join(kind.seen_by)}. Controls: {shown}.\n\n"
        f"Its effect, which every verdict counts, is how many {kind.shown_by}."
    )
    return f"{facts}\n\n{_proof(kind)}\n\n{params}\n{without_headings(page_of(kind))}"


def _proof(kind: FaultKind) -> str:
    """How a trial is known to have met it, by the scenarios about it."""
    proofs: dict[str, list[str]] = {}
    for scenario in registry.table("scenarios").values():
        if kind.name in _kinds(scenario.name) and not scenario.opt_in:
            told, _, _ = (getdoc(scenario.consequence) or "").partition("\n\n")
            proofs.setdefault(" ".join(told.split()), []).append(_scenario(scenario))
    if not proofs:
        return "No scenario is about it: in a trial its effect alone shows it."
    lines = (f"- {told} ({_links(scenarios)})" for told, scenarios in proofs.items())
    return "\n".join(["Besides its effect, what shows in a trial with it:", "", *lines])


@cache
def _kinds(name: str) -> frozenset[str]:
    """The kinds of fault that a scenario draws."""
    drawn = (registry.scenario(name).schedule(Dice(seed, "faults")) for seed in range(SEEDS))
    return frozenset(fault.kind for faults in drawn for fault in faults)


def _scenario(scenario: Scenario) -> str:
    return f"[{scenario.name}](scenarios.md#{scenario.name.replace('/', '')})"


def _worlds(kind: FaultKind) -> str:
    return ", ".join(sorted(kind.modes))


def _links(links: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(links))
