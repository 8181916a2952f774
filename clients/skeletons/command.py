"""``kafka-trial init``: write a skeleton of an adapter, a campaign file or a CI workflow."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from clients.skeletons.files import adapter_files, must_be_new, template, write_new
from clients.skeletons.languages import LANGUAGES
from clients.skeletons.workflow import CLIENTS, MAX_SHARDS, SCENARIOS, Choices, checked, workflow
from harness.cli.console import answer, say
from harness.cli.examples import examples
from harness.cli.options import AsJson, Baseline
from harness.cli.output import print_json
from harness.files import write_named
from harness.model.errors import UsageError, unknown
from harness.model.path_names import folder_name

DEFAULT_NAME = "my-client"
WORKFLOW = Path(".github/workflows/kafka-trial.yml")


EXAMPLES = {
    "adapter": examples(
        "kafka-trial init adapter --language python",
        "kafka-trial init adapter --language go --name my-client",
    ),
    "campaign": examples("kafka-trial init campaign", "kafka-trial init campaign --file nightly.toml"),
    "ci": examples(
        "kafka-trial init ci",
        "kafka-trial init ci -c java --scenario 'network/*' --shards 4 --comment",
        "kafka-trial init ci --build 'make adapter' -- ./my-adapter",
    ),
}


def register(app: typer.Typer) -> None:
    """Add the commands (entry-point group ``kafka_trial.commands``)."""
    group = typer.Typer(help="Write a skeleton of an adapter, a campaign file or a CI workflow.")
    group.callback(invoke_without_command=True)(init)
    for command in (adapter, campaign, ci):
        group.command(command.__name__, epilog=EXAMPLES[command.__name__])(command)
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
    file: Annotated[Path, typer.Option(help="The file to write.")] = WORKFLOW,
    client: Annotated[
        list[str] | None,
        typer.Option("-c", "--client", help="NAME or NAME@VERSION; repeatable. Default: confluent-kafka."),
    ] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", help="A name or glob; repeatable. Default: produce/* and network/*."),
    ] = None,
    command: Annotated[
        str | None, typer.Option("--command", help="Your own adapter, as a command line; or after --.")
    ] = None,
    build: Annotated[
        str | None, typer.Option("--build", help="The command that builds your adapter.")
    ] = None,
    shards: Annotated[int, typer.Option(min=1, max=MAX_SHARDS, help="The number of parallel jobs.")] = 1,
    baseline: Baseline = None,
    install_from: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="A git URL, a wheel or folder of the project, or kafka-trial==VERSION. Default: this version.",
        ),
    ] = None,
    comment: Annotated[bool, typer.Option("--comment", help="Also comment on pull requests.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    as_json: AsJson = False,
) -> int:
    """Write a GitHub Actions workflow that tests a client in parallel jobs and publishes one report."""
    own = _words(command)
    choices = Choices(
        client or (() if own else CLIENTS),
        scenario or SCENARIOS,
        own,
        build,
        shards,
        baseline,
        install_from,
        comment,
    )
    content = workflow(checked(choices))
    if force:
        write_named(file, content)
    else:
        write_new({file: content}, hint="--force replaces it")
    _tell([file], [f"git add {shlex.quote(str(file))}"], as_json)
    return 0


def _words(command: str | None) -> list[str]:
    """Return the words of a command line. Raise UsageError if it is not one."""
    try:
        words = shlex.split(command or "")
    except ValueError as error:
        raise UsageError(
            "command-not-quoted",
            "--command {command!r} is not a command line: {why}",
            command=command,
            why=error,
        ) from None
    if command is not None and not words:
        raise UsageError("command-empty", "--command is empty")
    return words


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
