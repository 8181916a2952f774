"""The coverage page: where each behaviour is implemented, what checks it, and which mutant shows that it bites."""

from __future__ import annotations

from collections.abc import Iterable

from harness import registry
from harness.outcome import Level
from pages.markdown import NOTE, code, table
from suites.requirements import CLIENT_GROUPS, Group
from suites.requirements.behaviour import REFERENCE
from suites.requirements.coverage import Covered, coverage, tally
from suites.simulated.law import laws

HEAD = ("id", "level", "behaviour", "implemented in", "checked by", "shown to bite by")

ABOUT = """\
One row a behaviour. MUST is a rule of the protocol or a promise of safety; SHOULD is what the Java client does.
"(inside)": only the reference client's own trace can show it, all else can be judged on any client. A behaviour is
checked by laws (properties tried in virtual time, `suites/simulated`) and by [checks](checks.md) of the evidence of
trials; the mutants in the last column are clients with one defect that one of these has caught.
"""


def pages() -> dict[str, str]:
    """File below ``docs/`` -> its text."""
    covered = coverage()
    counted = [row for group in CLIENT_GROUPS for row in covered[group.prefix][1]]
    parts = ["# Behaviours and what checks them\n", NOTE, ABOUT, summary(counted), _open(counted)]
    parts += [_chapter(group, rows) for group, rows in covered.values()]
    return {"requirements.md": "\n".join(part for part in parts if part)}


def summary(counted: Iterable[Covered]) -> str:
    """The page's own count of the behaviours of the client groups."""
    sums = tally(counted)
    return (
        f"**{sums.checked} of {sums.total} behaviours are checked, {sums.must_checked} of the {sums.must_total} MUST "
        f"among them; for {sums.bitten} a mutant shows that the check bites.**\n"
        "Delivery semantics (E2E-DEL) come on top.\n"
    )


def _open(counted: Iterable[Covered]) -> str:
    """What is not checked yet, and why."""
    rows = [
        (row.behaviour.id, row.behaviour.level, row.behaviour.not_yet or "no law yet")
        for row in counted
        if not row.is_checked
    ]
    return "## Not yet\n\n" + table(("id", "level", "because"), rows) if rows else ""


def _chapter(group: Group, rows: Iterable[Covered]) -> str:
    return f"## {group.title} ({group.prefix})\n\n{table(HEAD, map(_row, rows))}"


def _row(row: Covered) -> tuple[str, ...]:
    behaviour = row.behaviour
    inside = " (inside)" if behaviour.scope == REFERENCE else ""
    return (
        behaviour.id,
        ("**MUST**" if behaviour.level is Level.MUST else str(behaviour.level)) + inside,
        f"{behaviour.statement} *{behaviour.source}*",
        _listed(_place(place) for place in behaviour.implemented),
        _listed([*map(_law, row.laws), *map(_check, row.checks)]) or behaviour.not_yet or "",
        _listed(code(name, f"../clients/mutants/{name}.py") for name in row.mutants),
    )


def _place(place: str) -> str:
    path, _, name = place.partition(": ")
    return code(name, f"../{path}")


def _law(name: str) -> str:
    law = laws()[name]
    body = law.hold or law.machine
    assert body is not None
    return code(name, f"../{_path(body.__module__)}")


def _check(name: str) -> str:
    return code(name, f"../{_path(registry.checks()[name].find.__module__)}")


def _path(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def _listed(items: Iterable[str]) -> str:
    return ", ".join(items)
