"""The command line: every command with its arguments and options, read from the parser that runs them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import typer

from harness.cli import main
from harness.cli.examples import lines_of
from harness.plugins import registry
from pages.markdown import NOTE, code, table

ABOUT = """\
Data goes to stdout, and text for people goes to stderr. With `--json`, a command prints one JSON document.
[Verdicts and exit codes](verdicts.md) lists the exit codes. `kafka-trial COMMAND --help` prints the text of this page.

A command line after `--` is the client under test: a program that speaks the [adapter contract](adapters.md).
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    found = list(_commands("kafka-trial", _root()))
    rows = ((f"[`{name}`](#{name.replace(' ', '-')})", _summary(command)) for name, command in found)
    index = table(("command", "what it does"), rows)
    sections = [_section(name, command) for name, command in found]
    return {"commands.md": "\n".join(["# Command line\n", NOTE, ABOUT, index, *sections])}


def _root() -> Any:
    """Return the commands of the kernel and those that packages add by entry point."""
    for name in registry.names("commands"):
        if name not in {each.name for each in main.app.registered_commands}:
            registry.command(name)(main.app)
    return typer.main.get_command(main.app)


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield the full name and the object of each command that does something; a group has only its own commands."""
    for name, each in getattr(command, "commands", {}).items():
        yield from _commands(f"{path} {name}", each)
    if not hasattr(command, "commands"):
        yield path, command


def _summary(command: Any) -> str:
    return " ".join(command.help.partition("\n\n")[0].split())


def _section(name: str, command: Any) -> str:
    shown = [each for each in command.params if not each.hidden]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    options = [each for each in shown if each.param_type_name == "option" and each.name != "help"]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *map(_argument, arguments)])
    parts = [f"## {name}\n", f"{command.help}\n", f"```\n{usage}\n```\n"]
    if examples := lines_of(command.epilog):
        parts.append("\n".join(["```sh", *examples, "```\n"]))
    if arguments:
        parts.append(table(("argument", "what"), ((code(_argument(each)), each.help) for each in arguments)))
    if options:
        parts.append(table(("option", "what", "default"), map(_option, options)))
    return "\n".join(parts)


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    many = f"{name}..." if argument.nargs == -1 else name
    return many if argument.required else f"[{many}]"


def _option(option: Any) -> tuple[str, str, str]:
    names = ", ".join(code(each) for each in sorted(option.opts, key=len))
    if not option.is_flag:
        names += f" {code(_value(option))}"
    bounds = [
        f"{word} {bound}" for word, bound in (("from", option.min), ("to", option.max)) if bound is not None
    ]
    what = f"{option.help} ({' '.join(bounds)})" if bounds else option.help
    return names, what, "" if option.default in (None, False, "", []) else code(str(_plain(option.default)))


def _value(option: Any) -> str:
    """Return the placeholder of an option's value: its metavar, its choices, or its type."""
    annotation = option.type_descriptor.annotation
    if option.metavar:
        return str(option.metavar)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "/".join(str(_plain(each)) for each in annotation)
    if choices := [each for each in get_args(annotation) if isinstance(each, str)]:
        return "/".join(choices)
    return {int: "N", float: "X", Path: "PATH"}.get(annotation, option.name.upper())


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
