"""The options that select trials, spelled alike in every command. Their values complete in the shell."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import completion

MAX_SEED = 2**62

Scenarios = Annotated[
    list[str] | None,
    typer.Argument(
        help="Names or globs; default: all except generated scenarios.",
        autocompletion=completion.names("scenarios"),
    ),
]
Clients = Annotated[
    list[str] | None,
    typer.Option(
        "-c", "--client", help="NAME or NAME@VERSION; repeatable.", autocompletion=completion.clients
    ),
]
Brokers = Annotated[
    list[str] | None,
    typer.Option("-b", "--broker", help="KIND:ID; repeatable.", autocompletion=completion.names("brokers")),
]
Guarantees = Annotated[
    list[str] | None,
    typer.Option(
        "-g", "--guarantee", help="Only these guarantees; repeatable.", autocompletion=completion.guarantees
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=MAX_SEED, help="The first seed; it determines every random choice.")
]
Seeds = Annotated[int, typer.Option(min=1, help="The number of consecutive seeds, starting with --seed.")]
OwnName = Annotated[
    str | None,
    typer.Option("--name", help="The name of your command after --; default: that of its program."),
]
#: The user's own command line after ``--``, which the command line puts here.
OwnCommand = Annotated[str | None, typer.Option(hidden=True)]
