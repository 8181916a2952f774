"""The coverage pages, one per area: where and by what each behaviour is judged, and which mutants break it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.model.verdicts import Level
from pages.markdown import NOTE, code, table
from suites.properties.property import properties
from suites.requirements import CLIENT_GROUPS, GROUPS, Group
from suites.requirements.behaviour import REFERENCE
from suites.requirements.coverage import Covered, Judged, Totals, coverage, totals

#: The folder of the pages, below ``docs/reference/``.
FOLDER = "requirements"
#: The repository, from a page in this folder.
ROOT = "../../.."

ABOUT = """\
A behaviour is one thing that a client must or must not do. Each has an id, a level, and a section in its area.

- **MUST** is a rule of the protocol or a promise of safety. **SHOULD** is what the Java client does.
- A behaviour is judged on *any client* if a [check](../checks.md) that needs no trace names it. Otherwise it is judged
  on *the reference client alone*, by a check of its trace or by properties, which are tested in virtual time
  (`suites/properties`).
- "Inside" marks a behaviour that only the reference client's own trace can show.
- A mutant is a client with one defect. It is listed at the behaviours that its defect breaks. Each property and check
  that is meant to catch it does catch it.
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    covered = coverage()
    areas = {f"{FOLDER}/{page_of(group)}": _area(group, rows) for group, rows in covered.values()}
    return {f"{FOLDER}/README.md": _index(covered)} | areas


def page_of(group: Group) -> str:
    """Return the file name of an area, made from its title."""
    return "-".join(group.title.lower().replace(",", "").split()) + ".md"


def link(id: str, folder: str = f"{FOLDER}/") -> str:
    """Return a behaviour's id as a link to its section (default: from a page in ``docs/reference/``)."""
    [group] = (group for group in GROUPS if group.prefix == id.rpartition("-")[0])
    return f"[{id}]({folder}{page_of(group)}#{id.lower()})"


def _index(covered: Mapping[str, tuple[Group, tuple[Covered, ...]]]) -> str:
    counted = [row for group in CLIENT_GROUPS for row in covered[group.prefix][1]]
    parts = ["# Behaviours and what judges them\n", NOTE, ABOUT, "## Areas\n", _areas(covered)]
    parts += ["## Counts\n", summary(counted), _open(counted), _in_part(counted)]
    return "\n".join(part for part in parts if part)


def _areas(covered: Mapping[str, tuple[Group, tuple[Covered, ...]]]) -> str:
    head = ("area", "ids", "behaviours", *(f"**{level}**" for level in Level), *map(str, Judged))
    rows = []
    for group, found in covered.values():
        levels = (sum(row.behaviour.level is level for row in found) for level in Level)
        judged = (sum(row.judged is each for row in found) for each in Judged)
        rows.append((f"[{group.title}]({page_of(group)})", group.prefix, len(found), *levels, *judged))
    return table(head, rows)


def summary(counted: Iterable[Covered]) -> str:
    """Return the index page's counts of the behaviours of the client groups."""
    rows = list(counted)
    by_level = [
        (f"**{level}**", totals(row for row in rows if row.behaviour.level is level)) for level in Level
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
        table(head, [_counts(name, sums) for name, sums in [*by_level, ("all", totals(rows))]])
        + "\nDelivery semantics (E2E-DEL) and liveness (E2E-LIV) are not counted here.\n"
    )


def _counts(name: str, sums: Totals) -> tuple[str, ...]:
    counts = (sums.total, sums.any_client, sums.reference, sums.not_yet, sums.with_mutant)
    return (name, *map(str, counts))


def _open(counted: Iterable[Covered]) -> str:
    """Return the section of behaviours that are not judged yet, in whole or in part, with the reasons."""
    rows = []
    for row in counted:
        behaviour = row.behaviour
        if row.judged is Judged.NOT_YET:
            rows.append(
                (link(behaviour.id, ""), behaviour.level, "all", behaviour.not_yet or "no property yet")
            )
        elif behaviour.not_yet_in_part:
            rows.append((link(behaviour.id, ""), behaviour.level, "in part", behaviour.not_yet_in_part))
    return "## Not yet judged\n\n" + table(("id", "level", "what", "reason"), rows) if rows else ""


def _in_part(counted: Iterable[Covered]) -> str:
    """Return the section of behaviours of which any client is judged in part."""
    rows = [
        (link(each.id, ""), each.level, each.on_any_client)
        for each in (row.behaviour for row in counted)
        if each.on_any_client
    ]
    head = ("id", "level", "what is judged on any client")
    return "\n## Judged on any client in part\n\n" + table(head, rows) if rows else ""


def _area(group: Group, rows: Iterable[Covered]) -> str:
    opening = f"The ids begin with `{group.prefix}`. The [index](README.md) explains the words and counts all areas.\n"
    return "\n".join([f"# {group.title}\n", NOTE, opening, *map(_behaviour, rows)])


def _behaviour(row: Covered) -> str:
    behaviour = row.behaviour
    inside = " (inside)" if behaviour.scope == REFERENCE else ""
    judged = "not judged yet" if row.judged is Judged.NOT_YET else f"judged on {row.judged}"
    facts = (
        ("Source", behaviour.source),
        ("Not yet", behaviour.not_yet or ""),
        ("Not yet, in part", behaviour.not_yet_in_part or ""),
        ("Judged on any client, in part", behaviour.on_any_client or ""),
        ("Implemented in", _listed(_place(place) for place in behaviour.implemented)),
        ("Judged by", _by(row)),
        (
            "Mutants of its own",
            _listed(code(name, f"{ROOT}/clients/mutants/{name}.py") for name in row.mutants),
        ),
    )
    lines = "\n".join(f"- {name}: {fact}" for name, fact in facts if fact)
    return f"## {behaviour.id}\n\n**{behaviour.level}**{inside}, {judged}. {behaviour.statement}\n\n{lines}\n"


def _by(row: Covered) -> str:
    """Return what judges a behaviour, or a part of one that is not judged yet."""
    if row.judged is Judged.ANY_CLIENT and not row.behaviour.on_any_client:
        return _listed(map(_check, row.checks))
    return _listed([*map(_check, (*row.checks, *row.trace_checks)), *map(_law, row.properties)])


def _place(place: str) -> str:
    path, _, name = place.partition(": ")
    return code(name, f"{ROOT}/{path}")


def _law(name: str) -> str:
    prop = properties()[name]
    body = prop.hold or prop.machine
    assert body is not None
    return code(name, f"{ROOT}/{_path(body.__module__)}")


def _check(name: str) -> str:
    return code(name, f"../checks.md#{name}")


def _path(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def _listed(items: Iterable[str]) -> str:
    return ", ".join(items)
