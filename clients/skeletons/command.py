"""``kafka-trial init``: write a skeleton of an adapter, a campaign file or a CI workflow."""

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
    group = typer.Typer(help="Write a skeleton of an adapter, a campaign file or a CI workflow.")
    group.callback(invoke_without_command=True)(init)
    for command in (adapter, campaign, ci):
        group.command(command.__name__)(command)
    app.add_typer(group, name="init")


def init(context: typer.Context) -> int:
    """Write a skeleton of an adapter, a campaign file or a CI workflow."""
    if context.invoked_subcommand is None:
        answer(f"kafka-trial init adapter --language {'|'.join(LANGUAGES)}   {_first_line(adapter)}")
        answer(f"kafka-trial init campaign   {_first_line(campaign)}")
        answer(f"kafka-trial init ci   {_first_line(ci)}")
    return 0


def adapter(
    language: Annotated[str | None, typer.Option("--language", help=", ".join(LANGUAGES))] = None,
    name: Annotated[str, typer.Option(help="The name of the client.")] = DEFAULT_NAME,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="A new or empty folder to write to. Default: the name.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Write a program that implements the contract. Fill in the methods for your client."""
    folder_name(name, "client")
    if language is None:
        raise UsageError(
            "no-language", "--language is missing; choose one of {languages}", languages=tuple(LANGUAGES)
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
    say(f"complete {target / chosen.program}; {target / 'README.md'} lists the requirements")
    return 0


def campaign(
    file: Annotated[Path, typer.Option(help="The file to write.")] = Path("campaign.toml"),
    as_json: AsJson = False,
) -> int:
    """Write a campaign file with comments that explain every setting."""
    write_new({file: template("campaign.toml")})
    quoted = shlex.quote(str(file))
    _tell([file], [f"kafka-trial campaign {quoted} --dry-run", f"kafka-trial campaign {quoted}"], as_json)
    return 0


def ci(
    file: Annotated[Path, typer.Option(help="The file to write.")] = WORKFLOW, as_json: AsJson = False
) -> int:
    """Write a GitHub Actions workflow that tests a client."""
    write_new({file: template("kafka-trial.yml")})
    _tell([file], [f"git add {shlex.quote(str(file))}"], as_json)
    say("choose CLIENT and the scenarios in that file")
    return 0


def _tell(files: list[Path], steps: list[str], as_json: bool) -> None:
    """Print the written files to stdout and the next steps to stderr."""
    if as_json:
        print_json({"files": [str(path) for path in files], "next": steps})
    else:
        for path in files:
            answer(str(path))
    for step in steps:
        say(f"next: {step}")


def _first_line(command: object) -> str:
    return (command.__doc__ or "").splitlines()[0]
