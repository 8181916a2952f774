"""Run clients with one defect each against the properties and checks that should catch them, and print the result."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from harness.cli.console import answer, say
from harness.cli.output import print_json
from harness.model.errors import NothingSelected, unknown
from harness.plugins import registry
from harness.plugins.mutant import PREFIX
from harness.simulated.selection import is_simulated
from harness.text.counting import some
from suites.properties.mutation_testing import Caught, accuse, catch, idle_catchers, simulated
from suites.properties.property import properties
from suites.properties.stand_ins import STAND_INS

PROGRESS_S = 5.0
#: The least number of examples of every property and check for a client without a defect.
#: If the mutants have fewer, that is the number.
CONTROL_EXAMPLES = 20


def mutants(
    names: Sequence[str], examples: int, seed: int, of: Sequence[str] = (), as_json: bool = False
) -> int:
    """Run these mutants, or all if there are no ``names``, and only those ``of`` these clients. Return the exit code.

    It is 1 if a mutant escapes or a client without a defect is accused.
    """
    chosen, live_only = _chosen(names, of)
    # The settings of properties are unusual on purpose, so the client's warnings about them are not shown.
    logging.getLogger("kafka-trial.reference").addHandler(logging.NullHandler())
    simulated.cache_clear()
    began = time.monotonic()
    tried = _all(chosen, examples, seed)
    accused = _control(tried, examples, seed)
    escaped = [each for each in tried if each.examples is None]
    if as_json:
        print_json(_document(tried, escaped, accused, live_only))
    else:
        answer(_table(tried))
    for each in escaped:
        say(f"{each.name} escapes {each.by}, {examples} examples")
    for each in accused:
        say(f"{each.name}, which has no defect, is accused by {each.by}, example {each.examples}")
    for name in live_only:
        say(f"{name} is not tried: it cannot run in virtual time; kafka-trial run -c {PREFIX}{name} tries it")
    if not names and not of:
        for by in sorted(set(idle_catchers()) - set(STAND_INS)):
            say(f"{by} has neither a mutant nor a stand-in")
    code = 1 if escaped or accused else 0
    say(
        f"{some(len(chosen), 'mutant')}, {some(len(tried), 'time')} to be caught, {len(escaped)} escaped; clients "
        f"without a defect were accused {some(len(accused), 'time')}; {time.monotonic() - began:.0f} s; exit {code}"
    )
    return code


def _chosen(names: Sequence[str], of: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the chosen mutants that can run in virtual time, and those that cannot.

    Raises UsageError for an unknown name or client, and NothingSelected if no mutant can be tried.
    """
    chosen = [each.removeprefix(PREFIX) for each in names or registry.names("mutants")]
    table = {name: registry.mutant(name) for name in chosen}
    clients = {each.of for each in table.values()}
    for client in of:
        if client not in clients:
            raise unknown("client with a mutant", client, clients)
    wanted = [name for name, mutant in table.items() if not of or mutant.of in of]
    here = [name for name in wanted if is_simulated(PREFIX + name)]
    if not here:
        raise NothingSelected(
            "no-simulated-mutant",
            "no mutant can run in virtual time, of {mutants}",
            mutants=tuple(wanted) or "none",
        )
    return here, [name for name in wanted if name not in here]


def _all(names: Sequence[str], examples: int, seed: int) -> list[Caught]:
    """Run every mutant with every property and check that it names."""
    tried: list[Caught] = []
    told = time.monotonic()
    for name in names:
        tried += [catch(name, by, examples, seed) for by in registry.mutant(name).caught_by]
        if time.monotonic() - told >= PROGRESS_S:
            told = time.monotonic()
            say(f"[{names.index(name) + 1}/{len(names)}] {name}")
    return tried


def _control(tried: Sequence[Caught], examples: int, seed: int) -> list[Caught]:
    """Return what accuses a client without a defect, tried at least as often as any of its mutants by the same."""
    counts: dict[tuple[str, str, tuple[str, ...]], int] = {}
    for each in tried:
        mutant = registry.mutant(each.name)
        same = mutant.of, each.by, () if each.by in properties() else mutant.scenarios
        counts[same] = max(counts.get(same, min(examples, CONTROL_EXAMPLES)), each.examples or examples)
    # Those of the same scenarios follow each other, because they judge the same trials.
    in_turn = sorted(counts.items(), key=lambda each: (each[0][0], each[0][2]))
    controls = [accuse(*same, count, seed) for same, count in in_turn]
    say(
        f"clients without a defect: {some(sum(counts.values()), 'example')}, properties and checks: {len(counts)}"
    )
    return [each for each in controls if each.examples is not None]


def _soonest(tried: Sequence[Caught]) -> list[Caught]:
    """Return one row per mutant: the property or check that needed the fewest examples.

    ``examples`` is None if none of the mutant's own catchers caught it.
    """
    best: dict[str, Caught] = {}
    for each in tried:
        known = best.setdefault(each.name, each)
        if each.examples is not None and (known.examples is None or each.examples < known.examples):
            best[each.name] = each
    return list(best.values())


def _document(
    tried: Sequence[Caught], escaped: Sequence[Caught], accused: Sequence[Caught], live_only: Sequence[str]
) -> dict[str, Any]:
    return {
        "mutants": [_row(each) for each in _soonest(tried)],
        "pairs": len(tried),
        "escaped": [{"mutant": each.name, "by": each.by} for each in escaped],
        "accused": [{"client": each.name, "by": each.by} for each in accused],
        "not_tried": list(live_only),
    }


def _row(caught: Caught) -> dict[str, str | int | None]:
    mutant = registry.mutant(caught.name)
    return {
        "name": caught.name,
        "of": mutant.of,
        "defect": mutant.defect,
        "caught_by": None if caught.examples is None else caught.by,
        "examples": caught.examples,
    }


def _table(tried: Sequence[Caught]) -> Table:
    table = Table("mutant", "of", "a client that ...", "caught by", "examples", box=None, pad_edge=False)
    for each in tried:
        mutant = registry.mutant(each.name)
        times = "never" if each.examples is None else str(each.examples)
        table.add_row(each.name, mutant.of, mutant.defect, each.by, times)
    return table
