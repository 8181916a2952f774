"""``kafka-trial``: the command line. Each command has a file; other packages add commands by entry point.

Data is written to stdout, and text for people to stderr. An error that a user can see is a code, one sentence (and a
hint) and an exit code; a traceback is a defect of the harness. Exit codes: 0 all allowed, 1 a confirmed disagreement, 2
usage, 3 harness or environment, 4 inconclusive, 5 nothing selected, 130 and 143 interrupted.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import signal
import traceback
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

import typer

import harness
from harness.cli import interrupts
from harness.cli.commands import (
    baseline,
    bisect,
    campaign,
    diff,
    doctor,
    explain,
    judge,
    listing,
    merge,
    outcomes,
    prune,
    replay,
    run,
    schema,
    shrink,
)
from harness.cli.console import answer, say
from harness.cli.output import OutputClosed
from harness.cli.start import TRACEBACK
from harness.model.errors import KafkaTrialError, Problems, first_of
from harness.plugins import registry
from harness.system import own_packages, processes
from harness.text.escaping import safe_lines

app = typer.Typer(
    name="kafka-trial",
    help="Puts Kafka clients on trial: real brokers, real faults, verdicts anyone can check.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: In the order of the help page.
COMMANDS = (
    run,
    campaign,
    replay,
    shrink,
    bisect,
    judge,
    merge,
    outcomes,
    diff,
    baseline,
    listing,
    explain,
    doctor,
    prune,
    schema,
)
for command in COMMANDS:
    command.register(app)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        answer(f"kafka-trial {version('kafka-trial')}")
        raise typer.Exit


@app.callback()
def _options(
    is_version_asked: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


def call(argv: list[str]) -> int:
    """Run one command, restore the previous signal handlers and return the exit code."""
    with interrupts.restored():
        return execute(argv)


def execute(argv: list[str]) -> int:
    """Run one command and return its exit code, as the last thing this process does.

    Signal handlers are not restored: a signal between that and the end of the process would change the exit code.
    """
    try:
        interrupts.raise_all()
        logging.lastResort = _Sayer(logging.WARNING)
        own = logging.getLogger(harness.__name__)
        own.addHandler(_Sayer(logging.INFO))
        own.setLevel(logging.INFO)
        own_packages.check()
        _add_commands()
        processes.sweep()
        result = app(_with_command(argv), standalone_mode=False)
        return result if isinstance(result, int) else 0
    except KafkaTrialError as error:
        return _told(error)
    except ExceptionGroup as group:
        known = first_of(group)
        return _told(known) if known else _defect(group)
    except typer.Exit as exit_:
        return exit_.exit_code
    except (interrupts.Interrupted, typer.Abort, KeyboardInterrupt) as error:
        interrupts.ignore()
        say("interrupted; what was finished is kept")
        return 128 + (error.number if isinstance(error, interrupts.Interrupted) else signal.SIGINT)
    except OutputClosed:
        return 141
    except Exception as error:
        if (usage := _usage(error)) is None:
            return _defect(error)
        say(f"error[{usage[0]}]: {usage[1]}")
        return 2


class _Sayer(logging.Handler):
    """Prints log messages of the harness (fetching, building) as they happen, since such steps can take half a minute.

    Warnings of libraries without a handler are printed here too; Python would print them unescaped, including text from
    clients.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING:
            say(f"==> {record.getMessage()}")
        else:
            error = record.exc_info[1] if record.exc_info else None
            say(f"warning: {record.getMessage()}{f': {type(error).__name__}: {error}' if error else ''}")


@cache
def _add_commands() -> None:
    """Add the commands of other packages, once per process.

    A broken command is reported and stays listed, and the other commands still work.
    """
    for name in registry.names("commands"):
        try:
            registry.command(name)(app)
        except KafkaTrialError as error:
            say(f"warning[{error.code}]: no command {name!r}: {error}")
            _add_broken(name, error)


def _add_broken(name: str, error: KafkaTrialError) -> None:
    """List a command that cannot be loaded. It fails with the reason, whatever its arguments are."""

    def fail(context: typer.Context) -> None:
        raise error

    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(name, help="Cannot be loaded.", context_settings=anything)(fail)


def _with_command(argv: list[str]) -> list[str]:
    """Return ``argv`` with everything after ``--`` joined to one ``--command`` option."""
    if "--" not in argv:
        return argv
    at = argv.index("--")
    return [*argv[:at], "--command", shlex.join(argv[at + 1 :])]


def _told(error: KafkaTrialError) -> int:
    if isinstance(error, Problems):
        for each in error.errors:
            _told(each)
        return error.exit_code
    say(f"error[{error.code}]: {error}")
    if error.hint:
        say(f"hint: {error.hint}")
    return error.exit_code


def _defect(error: Exception) -> int:
    """Report an unexpected exception in one sentence, with a hint on how to get the traceback."""
    if os.environ.get(TRACEBACK):
        for line in safe_lines("".join(traceback.format_exception(error))).splitlines():
            say(line)
        return KafkaTrialError.exit_code
    say(f"error[defect]: a defect of kafka-trial, not of a client: {type(error).__name__}: {error}")
    say(f"hint: {TRACEBACK}=1 shows where it happened")
    return KafkaTrialError.exit_code


def _usage(error: Any) -> tuple[str, str] | None:
    """Return code and message of a usage error of the option parser, which has its own copy of click's classes.

    The code is the class of the error, such as ``no-such-option``.
    """
    if not hasattr(error, "format_message"):
        return None
    # If a command is missing, the parser prints its help page and has no message.
    if not (said := str(error.format_message())):
        return "missing-command", _lacks_a_command(error.ctx)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__).lower(), said


def _lacks_a_command(context: typer.Context) -> str:
    group: Any = context.command
    return f"{group.name} lacks a command: one of {', '.join(group.list_commands(context))}"
