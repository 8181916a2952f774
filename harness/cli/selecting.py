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
    typer.Option("-b", "--broker", help="KIND:ID; repeatable.", autocompletion=completion.brokers),
]
#: For commands that repeat trials, each of which has a broker.
OtherBroker = Annotated[
    str | None,
    typer.Option(
        "-b",
        "--broker",
        help="Use this broker instead: KIND:ID.",
        autocompletion=completion.brokers,
    ),
]
Anomaly = Annotated[
    str | None,
    typer.Option(
        help="Look only for this anomaly, the name of a check.", autocompletion=completion.names("checks")
    ),
]
Guarantees = Annotated[
    list[str] | None,
    typer.Option(
        "-g", "--guarantee", help="Only these guarantees; repeatable.", autocompletion=completion.guarantees
    ),
]
#: The user's own command line after ``--``, which the command line puts here.
OwnCommand = Annotated[str | None, typer.Option(hidden=True)]
OwnName = Annotated[
    str | None,
    typer.Option("--name", help="The name of your command after --; default: that of its program."),
]
_SEED = typer.Option("--seed", min=0, max=MAX_SEED, help="The first seed; it determines every random choice.")
_SEEDS = typer.Option("--seeds", min=1, help="The number of consecutive seeds, starting with --seed.")
Seed = Annotated[int, _SEED]
Seeds = Annotated[int, _SEEDS]
#: For a command that otherwise takes them from a file.
MaybeSeed = Annotated[int | None, _SEED]
MaybeSeeds = Annotated[int | None, _SEEDS]
