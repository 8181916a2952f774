"""``kafka-trial mutants``: run one-defect clients against the properties and checks that should catch them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from clients.seeding.table import mutant
from harness.cli.console import answer, say
from harness.cli.output import print_json
from harness.plugins import registry
from suites.properties.mutation_testing import TRUE, Caught, catch, idle_catchers
from suites.properties.stand_ins import STAND_INS

PROGRESS_S = 5.0
EXAMPLES = 150
#: The least number of examples of every property and check for the true client, unless the mutants have fewer.
CONTROL_EXAMPLES = 20
MAX_SEED = 2**62


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mutants")(mutants)


def mutants(
    names: Annotated[list[str] | None, typer.Argument(help="The mutants to run. Default: all.")] = None,
    examples: Annotated[
        int, typer.Option(min=1, help="Give up on a mutant after this many examples.")
    ] = EXAMPLES,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="The same seed tries the same examples.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Run each mutant against what is meant to catch it, and the true client against the same."""
    chosen = names or registry.names("mutants")
    for name in chosen:
        mutant(name)
    # Properties may use unusual settings, so the client's warnings about them are not shown.
    logging.getLogger("kafka-trial.reference").addHandler(logging.NullHandler())
    began = time.monotonic()
    tried = _all(chosen, examples, seed)
    accused = _control(tried, examples, seed)
    escaped = [each for each in tried if each.examples is None]
    if as_json:
        print_json(_document(tried, escaped, accused))
    else:
        answer(_table(tried))
    for each in escaped:
        say(f"{each.name} escapes {each.by}, {examples} examples")
    for each in accused:
        say(f"the true client is accused by {each.by}, example {each.examples}")
    if not names:
        for by in sorted(set(idle_catchers()) - set(STAND_INS)):
            say(f"{by} has neither a mutant nor a stand-in")
    code = 1 if escaped or accused else 0
    say(
        f"{len(chosen)} mutants with {len(tried)} catchers, {len(escaped)} escaped; the true client was "
        f"accused {len(accused)} times; {time.monotonic() - began:.0f} s; exit {code}"
    )
    return code


def _all(names: Sequence[str], examples: int, seed: int) -> list[Caught]:
    """Run every mutant with every property and check that it names."""
    tried: list[Caught] = []
    told = time.monotonic()
    for name in names:
        tried += [catch(name, by, examples, seed) for by in mutant(name).caught_by]
        if time.monotonic() - told >= PROGRESS_S:
            told = time.monotonic()
            say(f"[{names.index(name) + 1}/{len(names)}] {name}")
    return tried


def _control(tried: Sequence[Caught], examples: int, seed: int) -> list[Caught]:
    """Return what accuses the true client, tried at least as often as any mutant by the same property or check."""
    counts: dict[str, int] = {}
    for each in tried:
        least = min(examples, CONTROL_EXAMPLES)
        counts[each.by] = max(counts.get(each.by, least), each.examples or examples)
    controls = [catch(TRUE, by, count, seed) for by, count in counts.items()]
    say(f"the true client: {sum(counts.values())} examples of {len(counts)} properties and checks")
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
    tried: Sequence[Caught], escaped: Sequence[Caught], accused: Sequence[Caught]
) -> dict[str, Any]:
    return {
        "mutants": [_row(each) for each in _soonest(tried)],
        "pairs": len(tried),
        "escaped": [{"mutant": each.name, "by": each.by} for each in escaped],
        "accused": [each.by for each in accused],
    }


def _row(caught: Caught) -> dict[str, str | int | None]:
    return {
        "name": caught.name,
        "defect": mutant(caught.name).defect,
        "caught_by": None if caught.examples is None else caught.by,
        "examples": caught.examples,
    }


def _table(tried: Sequence[Caught]) -> Table:
    table = Table(
        "mutant", "the reference client, which ...", "caught by", "examples", box=None, pad_edge=False
    )
    for each in tried:
        table.add_row(
            each.name,
            mutant(each.name).defect,
            each.by,
            "never" if each.examples is None else str(each.examples),
        )
    return table
