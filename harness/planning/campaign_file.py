"""A campaign as a TOML file: what is to be tried with what, and for how long. Read and checked before anything runs.

Clients, brokers, scenarios and guarantees are looked up where the plan is made; what is the file's own is checked here:
the settings of its configurations, and the tables of faults from which schedules are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from harness.model.errors import UsageError
from harness.model.verdicts import Guarantee
from harness.planning.fault_strategies import DrawnScenario
from harness.planning.fault_tables import Generated, scenario_of
from harness.planning.setting_values import accepted
from harness.planning.strict_toml import at, below, read
from harness.plugins.scenario import Config

#: What stands behind every table of faults.
SCENARIO: Final = "generated/campaign"
#: Part of a trial's name, as is all else.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class Combine(StrEnum):
    """Everything with everything, or every two values together, at least once."""

    PRODUCT = "product"
    PAIRWISE = "pairwise"


class Client(msgspec.Struct, frozen=True):
    """A client at several versions, or a program of one's own."""

    name: Annotated[str | None, Meta(description="Which client; of a command, the name that it goes by.")] = (
        None
    )
    versions: Annotated[
        tuple[str, ...] | str,
        Meta(description='Which versions; "tried" for all that this project has tried.'),
    ] = ()
    command: Annotated[
        tuple[str, ...], Meta(description="A program that speaks the contract, and its arguments.")
    ] = ()


class Seeds(msgspec.Struct, frozen=True):
    """So many seeds in a row."""

    first: Annotated[int, Meta(ge=0, le=2**62, description="The first of them.")] = 1
    count: Annotated[int, Meta(ge=1, le=1_000_000, description="How many.")] = 1


class Spending(msgspec.Struct, frozen=True):
    """What a run may spend: when it is used up nothing new begins."""

    max_time: Annotated[str | None, Meta(description="Such as 90s, 10m, 1h30m.")] = None
    max_failures: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="So many verdicts fail.")] = (
        None
    )


class CampaignFile(msgspec.Struct, frozen=True):
    """What is tried: everything with everything, or every two of it together."""

    clients: Annotated[
        tuple[str | Client, ...],
        Meta(description="NAME, NAME@VERSION, or a table; without any, those of kafka-trial run."),
    ] = ()
    brokers: Annotated[
        tuple[str, ...], Meta(description="KIND:ID; without any, that of kafka-trial run.")
    ] = ()
    scenarios: Annotated[
        tuple[str, ...] | None,
        Meta(description="Names or globs; without the key, all, but none beside generated tables."),
    ] = None
    guarantees: Annotated[
        tuple[Guarantee, ...],
        Meta(description="Only these; without any, all that a scenario is tried under."),
    ] = ()
    configurations: Annotated[
        dict[str, dict[str, Any]],
        Meta(
            description="Settings of clients, by Java's names, over the common ones; these are tried, no others."
        ),
    ] = {}
    generated: Annotated[
        dict[str, Generated],
        Meta(description="Tables of faults, by name; each seed draws a schedule from each."),
    ] = {}
    combine: Annotated[
        Combine, Meta(description="Everything with everything, or every two values together, at least once.")
    ] = Combine.PRODUCT
    seeds: Annotated[
        Seeds | tuple[Annotated[int, Meta(ge=0, le=2**62)], ...],
        Meta(description="So many in a row, or a list; every combination is tried with all of them."),
    ] = Seeds()
    budget: Annotated[
        Spending, Meta(description="What the run may spend: when it is used up nothing new begins.")
    ] = Spending()
    jobs: Annotated[int | str | None, Meta(description="Trials at a time, or auto.")] = None


def load(path: Path) -> CampaignFile:
    """The file. UsageError, in one sentence, for the first thing that is not meant like that."""
    file = read(path, CampaignFile)
    with at(str(path)):
        if not seeds(file):
            raise UsageError("no-seeds", "seeds: there is none; name one at least")
        for part in ("configurations", "generated"):
            for name in getattr(file, part):
                if not _NAME.fullmatch(name):
                    raise UsageError(
                        "variant-name",
                        "{where}: its name is part of those of trials, which can be up to 40 "
                        "of A-Z, a-z, 0-9, - and _",
                        where=below(part, name),
                    )
    return file


def seeds(file: CampaignFile) -> list[int]:
    """The seeds, each once."""
    if isinstance(file.seeds, Seeds):
        return list(range(file.seeds.first, file.seeds.first + file.seeds.count))
    return list(dict.fromkeys(file.seeds))


def configurations(file: CampaignFile) -> dict[str, Config]:
    """The settings by name of the configuration; nameless and without any where the file has none.

    UsageError for a setting that no workload knows, or a value that it does not take.
    """
    found = {name: _settings(table, f"configurations.{name}") for name, table in file.configurations.items()}
    return found or {"": {}}


def _settings(table: Mapping[str, Any], where: str) -> Config:
    with at(where):
        return {name: accepted(name, value) for name, value in _dotted(table)}


def _dotted(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(Name, value) of each setting: to TOML, a name with dots that is not in quotes is tables within tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in _dotted(value))
        else:
            yield key, value


def generated(file: CampaignFile, behind: DrawnScenario, brokers: Sequence[str]) -> dict[str, DrawnScenario]:
    """The scenarios that the tables of faults come to. UsageError for faults that cannot be had, or not be judged."""
    return {name: scenario_of(name, table, behind, brokers) for name, table in file.generated.items()}
