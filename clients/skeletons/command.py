"""``kafka-trial init``: write an adapter to fill in, a campaign file or a CI workflow to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from clients.skeletons.files import adapter_files, must_be_new, template, write_new
from clients.skeletons.languages import LANGUAGES
from harness.cli.console import answer, say
from harness.cli.options import AsJson
from harness.cli.output import print_json
from harness.model.errors import UsageError, unknown
from harness.model.path_names import folder_name

DEFAULT_NAME = "my-client"
WORKFLOW = Path(".github/workflows/kafka-trial.yml")


def register(app: typer.Typer) -> None:
    """Add the commands (entry-point group ``kafka_trial.commands``)."""
    group = typer.Typer(help="Write what one begins with: an adapter, a campaign file, a CI workflow.")
    group.callback(invoke_without_command=True)(init)
    for command in (adapter, campaign, ci):
        group.command(command.__name__)(command)
    app.add_typer(group, name="init")


def init(context: typer.Context) -> int:
    """Write what one begins with: an adapter, a campaign file, a CI workflow."""
    if context.invoked_subcommand is None:
        answer(f"kafka-trial init adapter --language {'|'.join(LANGUAGES)}   {_first_line(adapter)}")
        answer(f"kafka-trial init campaign   {_first_line(campaign)}")
        answer(f"kafka-trial init ci   {_first_line(ci)}")
    return 0


def adapter(
    language: Annotated[str | None, typer.Option("--language", help=", ".join(LANGUAGES))] = None,
    name: Annotated[str, typer.Option(help="What the client is called.")] = DEFAULT_NAME,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Where to, a folder that is new or empty; else the name.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Write a program that speaks the contract, with the methods of a client to fill in."""
    folder_name(name, "client")
    if language is None:
        raise UsageError(
            "no-language", "in which language? --language takes {languages}", languages=tuple(LANGUAGES)
        )
    if language not in LANGUAGES:
        raise unknown("language", language, LANGUAGES)
    chosen = LANGUAGES[language]
    target = folder or Path(name)
    must_be_new(target)
    files = adapter_files(chosen, name)
    write_new({target / path: content for path, content in files.items()})
    steps = [
        f"cd {shlex.quote(str(target))}",
        chosen.build,
        f"kafka-trial check-adapter -- {chosen.command}",
        f"kafka-trial run produce/calm -- {chosen.command}",
    ]
    _tell([target / path for path in files], steps, as_json)
    say(f"{target / chosen.program} is to be filled in; {target / 'README.md'} says what is asked of it")
    return 0


def campaign(
    file: Annotated[Path, typer.Option(help="Where to.")] = Path("campaign.toml"), as_json: AsJson = False
) -> int:
    """Write a campaign file that says in comments what can be in it."""
    write_new({file: template("campaign.toml")})
    quoted = shlex.quote(str(file))
    _tell([file], [f"kafka-trial campaign {quoted} --dry-run", f"kafka-trial campaign {quoted}"], as_json)
    return 0


def ci(file: Annotated[Path, typer.Option(help="Where to.")] = WORKFLOW, as_json: AsJson = False) -> int:
    """Write a workflow for GitHub Actions that puts a client on trial."""
    write_new({file: template("kafka-trial.yml")})
    _tell([file], [f"git add {shlex.quote(str(file))}"], as_json)
    say("its CLIENT and its scenarios are yours to choose")
    return 0


def _tell(files: list[Path], steps: list[str], as_json: bool) -> None:
    """What was written, on stdout; what to do next, for a person."""
    if as_json:
        print_json({"files": [str(path) for path in files], "next": steps})
    else:
        for path in files:
            answer(str(path))
    for step in steps:
        say(f"next: {step}")


def _first_line(command: object) -> str:
    return (command.__doc__ or "").splitlines()[0]
