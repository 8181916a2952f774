"""The coverage page: on whom each behaviour is judged, by what, and which mutant's own defect it is."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.verdicts import Level
from harness.plugins import registry
from pages.markdown import NOTE, code, table
from suites.properties.property import laws
from suites.requirements import CLIENT_GROUPS, Group
from suites.requirements.behaviour import REFERENCE
from suites.requirements.coverage import Covered, Judged, Tally, coverage, tally

HEAD = ("id", "level", "behaviour", "implemented in", "judged on", "by", "mutants of its own")

ABOUT = """\
One row a behaviour. MUST is a rule of the protocol or a promise of safety; SHOULD is what the Java client does.
"(inside)": only the reference client's own trace can show it. A behaviour is judged on *any client* where a
[check](checks.md) of evidence names it that needs no trace; else on *the reference client alone*, by a check of its
trace or by laws (properties tried in virtual time, `suites/properties`). A mutant is a client with one defect; it
stands at the behaviours that are its own defect, and each law and check that is meant to catch it does.
"""


def pages() -> dict[str, str]:
    """File below ``docs/`` -> its text."""
    covered = coverage()
    counted = [row for group in CLIENT_GROUPS for row in covered[group.prefix][1]]
    parts = ["# Behaviours and what judges them\n", NOTE, ABOUT, summary(counted), _open(counted)]
    parts += [_chapter(group, rows) for group, rows in covered.values()]
    return {"requirements.md": "\n".join(part for part in parts if part)}


def summary(counted: Iterable[Covered]) -> str:
    """The page's own count of the behaviours of the client groups."""
    rows = list(counted)
    by_level = [
        (f"**{level}**", tally(row for row in rows if row.behaviour.level is level)) for level in Level
    ]
    head = (
        "",
        "behaviours",
        f"judged on {Judged.ANY_CLIENT}",
        f"judged on {Judged.REFERENCE}",
        str(Judged.NOT_YET),
        "with a mutant of its own",
    )
    return (
        table(head, [_counts(name, sums) for name, sums in [*by_level, ("all", tally(rows))]])
        + "\nDelivery semantics (E2E-DEL) are not counted here.\n"
    )


def _counts(name: str, sums: Tally) -> tuple[str, ...]:
    counts = (sums.total, sums.any_client, sums.reference, sums.not_yet, sums.with_mutant)
    return (name, *map(str, counts))


def _open(counted: Iterable[Covered]) -> str:
    """What is not judged yet, whole or in part, and why."""
    rows = []
    for row in counted:
        behaviour = row.behaviour
        if row.judged is Judged.NOT_YET:
            rows.append((behaviour.id, behaviour.level, "all", behaviour.not_yet or "no law yet"))
        elif behaviour.not_yet_in_part:
            rows.append((behaviour.id, behaviour.level, "in part", behaviour.not_yet_in_part))
    return "## Not yet\n\n" + table(("id", "level", "what", "because"), rows) if rows else ""


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
        str(row.judged),
        _by(row),
        _listed(code(name, f"../clients/mutants/{name}.py") for name in row.mutants),
    )


def _by(row: Covered) -> str:
    """What judges it on those on whom it is judged; for what is not judged yet, why not and what judges a part."""
    if row.judged is Judged.ANY_CLIENT:
        return _listed(map(_check, row.checks))
    by = _listed([*map(_check, row.trace_checks), *map(_law, row.laws)])
    reason = row.behaviour.not_yet
    return f"{reason}: {by}" if reason and by else reason or by


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
