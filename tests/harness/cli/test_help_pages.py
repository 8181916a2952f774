"""The help pages: every command has examples that its parser accepts, and sibling commands share their options."""

from __future__ import annotations

import shlex
from collections import defaultdict

import pytest
import typer

from harness.cli import main
from harness.cli.examples import lines_of
from harness.cli.main import call
from harness.plugins import registry

SIBLINGS = (
    "run",
    "campaign",
    "replay",
    "shrink",
    "bisect",
    "simulate",
    "mutants",
    "perturb",
    "check-adapter",
    "judge",
    "report",
    "outcomes",
    "diff",
    "merge",
)
#: Options with two meanings: name -> the commands in which it has the second one.
SECOND_MEANING = {
    "--broker": {
        "run",
        "campaign",
        "bisect",
    },  # several brokers for a plan; elsewhere another one for stored trials
    "--out": {"report"},  # the report's folder; for merge, a run's
    "--quiet": {"report"},  # it shows no progress, only results
    "--strict": {"diff"},  # it compares outcomes, where the others look at one verdict
}


def commands(group=None, path=()):
    """Return the path and the parser of each command, those of other packages included."""
    if group is None:
        main._add_commands()
        group = typer.main.get_command(main.app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_examples_that_its_parser_accepts(path):
    lines = lines_of(COMMANDS[path].epilog)
    assert lines
    for line in lines:
        program, *argv = shlex.split(line)
        assert program == "kafka-trial" and tuple(argv[: len(path)]) == path
        COMMANDS[path].make_context(path[-1], main._with_command(argv[len(path) :]))


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_page_shows_the_examples(capsys, path, flag):
    assert call([*path, flag]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(line[:40] in shown for line in lines_of(COMMANDS[path].epilog))


def options():
    """Return name -> meaning -> the commands that have the option, each with its type, help text and flags."""
    found = defaultdict(lambda: defaultdict(dict))
    for name in SIBLINGS:
        for option in COMMANDS[(name,)].params:
            if option.param_type_name != "option" or option.hidden:
                continue
            long = next(flag for flag in option.opts if flag.startswith("--"))
            shorts = tuple(flag for flag in option.opts if not flag.startswith("--"))
            is_second = name in SECOND_MEANING.get(long, ())
            kind = (str(option.type_descriptor.annotation), option.min, option.max, option.nargs)
            found[long][is_second][name] = (*kind, option.help, shorts, option.metavar)
    return found


@pytest.mark.parametrize(("option", "meanings"), sorted(options().items()))
def test_an_option_has_one_type_help_text_and_short_flag_in_all_commands(option, meanings):
    for having in meanings.values():
        assert len(set(having.values())) == 1, (option, having)


def test_every_exception_is_needed():
    for option, second in SECOND_MEANING.items():
        first_one, second_one = (options()[option][is_second] for is_second in (False, True))
        assert second_one.keys() == second
        assert set(first_one.values()).isdisjoint(second_one.values())


@pytest.mark.parametrize(
    ("option", "having"),
    [
        ("--json", SIBLINGS),
        ("--load", ("run", "campaign", "shrink", "bisect", "simulate")),
        ("--setting", ("run", "campaign", "shrink", "bisect", "simulate")),
        ("--out-dir", ("run", "campaign", "replay", "shrink", "bisect", "simulate")),
        ("--max-time", ("run", "campaign", "replay", "shrink", "bisect", "simulate")),
        ("--client-env", ("run", "campaign", "replay", "shrink", "bisect")),
        ("--broker", ("run", "campaign", "replay", "shrink", "bisect", "simulate")),
        ("--guarantee", ("run", "campaign", "bisect", "simulate")),
        ("--seed", ("run", "campaign", "bisect", "simulate", "mutants", "perturb")),
        ("--seeds", ("run", "campaign", "bisect", "simulate")),
        ("--junit", ("run", "campaign", "judge", "merge")),
        ("--summary", ("run", "campaign", "judge", "merge")),
        ("--strict", ("run", "campaign", "replay", "judge", "merge", "simulate", "diff")),
        (
            "--quiet",
            (
                "run",
                "campaign",
                "replay",
                "shrink",
                "bisect",
                "simulate",
                "perturb",
                "check-adapter",
                "report",
            ),
        ),
    ],
)
def test_siblings_have_the_same_options(option, having):
    assert set(having) <= {name for each in options()[option].values() for name in each}


def test_without_arguments_the_help_page_is_printed(capsys):
    assert call([]) == 2
    shown = capsys.readouterr().out
    assert "Usage:" in shown and all(f" {path[0]} " in shown for path in COMMANDS)


def test_the_examples_name_existing_parts():
    named = {
        word
        for command in COMMANDS.values()
        for line in lines_of(command.epilog)
        for word in shlex.split(line)
    }
    for word in named:
        if word.startswith("mutant-"):
            assert word in registry.names("clients")
