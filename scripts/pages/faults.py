"""The faults: a table of the controls that show each to bite and to leave others alone, then each kind's page."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import getdoc

from harness import registry
from harness.cli.explain import page_of
from harness.ports import FaultKind
from pages.controls import Control, controls, twins
from pages.markdown import table
from pages.registered import chapter, lowered

HEAD = (
    "kind",
    "worlds",
    "a hit, by the witness's rows",
    "positive control: seen by the client",
    "positive control: seen by the broker",
    "negative control: untouched",
    "control",
    "simulated twin",
)

ABOUT = """\
Every kind has its controls among the tests, and `make test` runs them in the live world: real Toxiproxy and real
witness in front of a small server, or real brokers. What client and broker see is seen on the test's own sockets, or
asked of the brokers; neither the fault nor the witness is taken at its word. Untouched on a lane is whoever has every
answer as the server wrote it. (In these tests one Toxiproxy serves both lanes; in a run each lane has its own.) A
control whose name does not begin with `test_` is a step of the test in its file.

The simulated twin is the test that asserts the same kind in the simulated world.
"""


def pages() -> dict[str, str]:
    """File below ``docs/`` -> its text."""
    return {"faults.md": chapter("Faults", "faults", _section, f"{ABOUT}\n{_table()}")}


def _table() -> str:
    kinds = registry.table("faults")
    return table(HEAD, (_row(kinds[control.kind], control) for control in controls()))


def _row(kind: FaultKind, control: Control) -> tuple[str, ...]:
    return (
        f"[{kind.name}](#{kind.name})",
        _worlds(kind),
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
    return f"Worlds: {_worlds(kind)}. Controls: {shown}.\n\n{params}\n{lowered(page_of(kind))}"


def _worlds(kind: FaultKind) -> str:
    return ", ".join(sorted(kind.worlds))


def _links(links: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(links))
