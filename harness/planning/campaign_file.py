"""A campaign as a TOML file: what to try, in which combinations, and for how long. It is checked before anything runs.

Clients, brokers, scenarios and guarantees are looked up when the plan is made. This module checks the parts that only a
file has: the settings of its configurations, and the tables of faults from which schedules are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from harness.model.errors import Collecting, UsageError
from harness.model.verdicts import Guarantee
from harness.planning.fault_strategies import DrawnScenario
from harness.planning.fault_tables import Generated, scenario_of
from harness.planning.own_load import OwnLoad
from harness.planning.setting_values import accepted
from harness.planning.strict_toml import at, below, read_partly
from harness.plugins.scenario import Config

#: The scenario that judges a table of faults if the file names no other.
SCENARIO: Final = "generated/campaign"
#: It is part of the trial's name, like every other axis.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class Combine(StrEnum):
    """How to combine the axes: all combinations, or few in which every two values meet."""

    PRODUCT = "product"
    PAIRWISE = "pairwise"


class Client(msgspec.Struct, frozen=True):
    """A client at several versions, or the user's own program."""

    name: Annotated[
        str | None, Meta(description="The client's name; for a command, the name to give it.")
    ] = None
    versions: Annotated[
        tuple[str, ...] | str,
        Meta(description='A list of versions; "tried" selects all that this project has tested.'),
    ] = ()
    command: Annotated[
        tuple[str, ...],
        Meta(
            description="A program that speaks the contract, and its arguments; words that begin with ./ or ../ are "
            "relative to this file."
        ),
    ] = ()


class Seeds(msgspec.Struct, frozen=True):
    """Consecutive seeds: ``count`` of them from ``first``."""

    first: Annotated[int, Meta(ge=0, le=2**62, description="The first seed.")] = 1
    count: Annotated[int, Meta(ge=1, le=1_000_000, description="How many.")] = 1


class Spending(msgspec.Struct, frozen=True):
    """The limits of a run. When one is reached, no further trial starts."""

    max_time: Annotated[str | None, Meta(description="Such as 90s, 10m, 1h30m.")] = None
    max_failures: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="The maximum number of fail verdicts.")
    ] = None


class CampaignFile(msgspec.Struct, frozen=True):
    """What to try, and how to combine it."""

    clients: Annotated[
        tuple[str | Client, ...],
        Meta(description="NAME, NAME@VERSION, or a table; default: those of kafka-trial run."),
    ] = ()
    brokers: Annotated[tuple[str, ...], Meta(description="KIND:ID; default: that of kafka-trial run.")] = ()
    scenarios: Annotated[
        tuple[str, ...] | None,
        Meta(description="Names or globs; default: all, or none if there are generated tables."),
    ] = None
    guarantees: Annotated[
        tuple[Guarantee, ...],
        Meta(description="Only these; default: all guarantees of each scenario."),
    ] = ()
    configurations: Annotated[
        dict[str, dict[str, Any]],
        Meta(
            description="Settings of clients, by their Java names, which override the common ones; only these run."
        ),
    ] = {}
    generated: Annotated[
        dict[str, Generated],
        Meta(description="Tables of faults, by name; each seed draws a schedule from each."),
    ] = {}
    load: Annotated[
        OwnLoad | None,
        Meta(description="What clients send in all scenarios, instead of each one's own load."),
    ] = None
    combine: Annotated[
        Combine, Meta(description="All combinations, or few in which every two values occur together.")
    ] = Combine.PRODUCT
    seeds: Annotated[
        Seeds | tuple[Annotated[int, Meta(ge=0, le=2**62)], ...],
        Meta(description="Consecutive seeds, or a list; every combination is tried with all of them."),
    ] = Seeds()
    budget: Annotated[
        Spending, Meta(description="The limits of the run; when one is reached, no further trial starts.")
    ] = Spending()
    jobs: Annotated[int | str | None, Meta(description="Trials at a time, or auto.")] = None
    baseline: Annotated[
        str | None,
        Meta(description="The list of known failures: a file, relative to this one, or the name of a list."),
    ] = None
    thresholds: Annotated[
        tuple[str, ...],
        Meta(description="What outcomes must meet, such as 'given_up < 0.1%'; a missed one is exit code 1."),
    ] = ()


def load(path: Path) -> CampaignFile:
    """Return the campaign of a file. Raise UsageError for what is invalid in it, all of it at once."""
    errors = Collecting()
    file = load_partly(path, errors)
    errors.check()
    return file


def load_partly(path: Path, errors: Collecting) -> CampaignFile:
    """Return the campaign of a file, without the keys that do not fit. Errors about the others are added to ``errors``.

    Raise UsageError for a file that cannot be read or is not TOML.
    """
    file = read_partly(path, CampaignFile, errors)
    with errors.each(), at(str(path)):
        if not seeds(file):
            raise UsageError("no-seeds", "seeds: give at least one")
    for part in ("configurations", "generated"):
        for name in getattr(file, part):
            with errors.each(), at(str(path)):
                _check_name(part, name)
    return file


def _check_name(part: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            "variant-name",
            "{where}: use 1 to 40 of A-Z, a-z, 0-9, - and _, because the name becomes part of the names of trials",
            where=below(part, name),
        )


def seeds(file: CampaignFile) -> list[int]:
    """Return the seeds without repetitions."""
    if isinstance(file.seeds, Seeds):
        return list(range(file.seeds.first, file.seeds.first + file.seeds.count))
    return list(dict.fromkeys(file.seeds))


def configurations(file: CampaignFile) -> dict[str, Config]:
    """Return the settings of each configuration by name; without configurations, a nameless one without settings.

    Raise UsageError for a setting that no workload knows, or a value that it does not accept.
    """
    found, errors = {}, Collecting()
    for name, table in file.configurations.items():
        with errors.each():
            found[name] = _settings(table, f"configurations.{name}")
    errors.check()
    return found or {"": {}}


def _settings(table: Mapping[str, Any], where: str) -> Config:
    found, errors = {}, Collecting()
    with at(where):
        for name, value in _dotted(table):
            with errors.each():
                found[name] = accepted(name, value)
        errors.check()
    return found


def _dotted(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each setting. TOML reads a dotted name without quotes as nested tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in _dotted(value))
        else:
            yield key, value


def generated(file: CampaignFile, behind: DrawnScenario, brokers: Sequence[str]) -> dict[str, DrawnScenario]:
    """Return the scenarios of the tables of faults.

    Raise UsageError for faults that cannot be made or cannot be judged.
    """
    found, errors = {}, Collecting()
    for name, table in file.generated.items():
        with errors.each():
            found[name] = scenario_of(name, table, behind, brokers)
    errors.check()
    return found
