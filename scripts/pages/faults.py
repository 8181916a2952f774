"""The faults: a table of controls, which show what each affects and what it does not; then each kind's page."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from inspect import getdoc

from harness.cli.explained import page_of
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

#: The number of schedules of a scenario that are searched for kinds of fault.
SEEDS = 8

ABOUT = """\
Every kind has its controls among the tests, and `make test` runs them in live mode: real Toxiproxy and real
witness in front of a small server, or real brokers. What client and broker see is observed on the test's own sockets,
or requested from the brokers; the controls do not rely on reports of the fault or the witness. Connections on a lane
are untouched if they receive every response as the server wrote it. (In these tests one Toxiproxy serves both lanes;
in a run each lane has its own.) A control whose name does not begin with `test_` is a step of the test in its file.

The simulated twin is the test that asserts the same kind in simulated mode.
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    return {"faults.md": chapter("Faults", "faults", _section, f"{ABOUT}\n{_table()}")}


def _table() -> str:
    kinds = registry.table("faults")
    return table(HEAD, (_row(kinds[control.kind], control) for control in controls()))


def _row(kind: FaultKind, control: Control) -> tuple[str, ...]:
    return (
        f"[{kind.name}](#{kind.name})",
        _modes(kind),
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
        f"Modes: {_modes(kind)}. Seen by: {', '.join(kind.seen_by)}. Controls: {shown}.\n\n"
        f"Its effect, which every verdict counts, is how many {kind.shown_by}."
    )
    return f"{facts}\n\n{_proof(kind)}\n\n{params}\n{without_headings(page_of(kind))}"


def _proof(kind: FaultKind) -> str:
    """Return how a trial shows that the fault had an effect, according to its scenarios."""
    proofs: dict[str, list[str]] = {}
    for scenario in registry.table("scenarios").values():
        if kind.name in _kinds(scenario.name) and not scenario.opt_in:
            told, _, _ = (getdoc(scenario.consequence) or "").partition("\n\n")
            proofs.setdefault(" ".join(told.split()), []).append(_scenario(scenario))
    if not proofs:
        return "No scenario is about this fault; a trial shows it only by its effect."
    lines = (f"- {told} ({_links(scenarios)})" for told, scenarios in proofs.items())
    return "\n".join(["Besides its effect, a trial shows it by:", "", *lines])


@cache
def _kinds(name: str) -> frozenset[str]:
    """Return the kinds of fault that a scenario draws."""
    drawn = (registry.scenario(name).schedule(Dice(seed, "faults")) for seed in range(SEEDS))
    return frozenset(fault.kind for faults in drawn for fault in faults)


def _scenario(scenario: Scenario) -> str:
    return f"[{scenario.name}](scenarios.md#{scenario.name.replace('/', '')})"


def _modes(kind: FaultKind) -> str:
    return ", ".join(sorted(kind.modes))


def _links(links: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(links))
