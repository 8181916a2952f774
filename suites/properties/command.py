"""``kafka-trial mutants``: its options. What it does needs the extra ``properties``."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import completion
from harness.cli.examples import examples
from harness.cli.options import AsJson
from harness.cli.selecting import Seed
from harness.system import extras

TRIES = 150

EXAMPLES = examples(
    "kafka-trial mutants",
    "kafka-trial mutants reuses_sequence_after_expiry --examples 300",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mutants", epilog=EXAMPLES)(mutants)


def mutants(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Which mutants; all of them by default. See list mutants.",
            autocompletion=completion.names("mutants"),
        ),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option("--of", metavar="CLIENT", help="Only mutants of this client; repeatable."),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="Give up on a mutant after this many.")] = TRIES,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Run each mutant against what is meant to catch it, and the client without the defect against the same."""
    with extras.needed("properties", "mutants"):
        from suites.properties.mutants import mutants

    return mutants(names or (), examples, seed, of or (), as_json)
