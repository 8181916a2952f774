"""Expands a campaign file to its plan, with sentences on what the plan includes and what it leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import NothingSelected, UsageError
from harness.model.spec import ClientRef, Plan
from harness.planning import own_commands, selection, user_settings
from harness.planning.campaign_file import SCENARIO, CampaignFile, Client, Combine, configurations, generated
from harness.planning.fault_strategies import DrawnScenario
from harness.planning.pairwise import met, pairwise
from harness.planning.plan import Axes, Cell, excluded, plan_of
from harness.planning.strict_toml import at
from harness.plugins import registry
from harness.plugins.scenario import Scenario

#: Instead of a list of versions: all versions that the client's adapter has been tested with.
TRIED = "tried"


@dataclass(frozen=True)
class Expanded:
    """A plan, and sentences on how it was made."""

    plan: Plan
    about: tuple[str, ...]


def expanded(
    file: CampaignFile,
    seeds: Sequence[int],
    clients: Sequence[ClientRef] = (),
    given: Sequence[str] = (),
    folder: Path = Path(),
    announce: Callable[[Sequence[ClientRef]], Sequence[ClientRef]] = lambda refs: refs,
) -> Expanded:
    """Return the plan of a file. ``clients`` replace those of the file, and ``given`` are settings of a command line.

    ``announce`` returns commands with the versions that they announce. Paths in the file begin at ``folder``.

    Raise UsageError for an unknown name in it.
    """
    brokers = _brokers(file)
    clients = announce(clients or list(dict.fromkeys(_clients(file))))
    axes = Axes(
        _loaded(file, _scenarios(file), folder),
        clients,
        brokers,
        _generated(file, brokers, folder),
        configurations(file),
        user_settings.parsed(given, clients),
    )
    cells = axes.cells()
    _check_configurations(axes, cells)
    if not cells:
        raise NothingSelected("empty-plan", "none of its combinations is possible")
    chosen = pairwise(cells) if file.combine is Combine.PAIRWISE else cells
    return Expanded(plan_of(axes, chosen, seeds), tuple(_about(axes, cells, chosen, len(seeds))))


def counts(plan: Plan) -> Iterator[str]:
    """Yield the number of trials per client, per scenario, and per variant that the file adds."""
    for what, names in (
        ("client", [str(spec.client) for spec in plan.trials]),
        ("scenario", [spec.scenario for spec in plan.trials]),
        ("variant", [spec.variant for spec in plan.trials if spec.variant]),
    ):
        if names:
            yield f"trials by {what}: {', '.join(f'{name} {count}' for name, count in Counter(names).items())}"


def _clients(file: CampaignFile) -> Iterator[ClientRef]:
    if not file.clients:
        yield from selection.clients((), ())
    for number, client in enumerate(file.clients):
        with at(f"clients[{number}]"):
            yield from selection.clients([client], ()) if isinstance(client, str) else _of_table(client)


def _of_table(client: Client) -> list[ClientRef]:
    if client.command and client.versions:
        raise UsageError("command-with-versions", "a command has no versions; remove one of the two keys")
    if client.command:
        [ref] = selection.clients((), client.command)
        return [own_commands.client(ref.command, client.name)]
    if client.name is None:
        raise UsageError("client-without-name", "it has neither a name nor a command")
    versions: Sequence[str] = (client.versions,) if isinstance(client.versions, str) else client.versions
    if client.versions == TRIED:
        versions = registry.client(client.name).versions
    elif isinstance(client.versions, str):
        raise UsageError(
            "versions-not-a-list",
            'versions must be a list or "{tried}", not {versions!r}',
            tried=TRIED,
            versions=client.versions,
        )
    return selection.clients([f"{client.name}@{version}" for version in versions] or [client.name], ())


def _brokers(file: CampaignFile) -> list[str]:
    with at("brokers"):
        return selection.brokers(file.brokers)


def _scenarios(file: CampaignFile) -> list[Scenario]:
    if (file.scenarios is None and file.generated) or file.scenarios == ():
        return []
    with at("scenarios"):
        return selection.scenarios(file.scenarios or (), file.guarantees)


def _loaded(file: CampaignFile, chosen: Sequence[Scenario], folder: Path) -> list[Scenario]:
    with at("load"):
        return selection.loaded(chosen, file.load, folder)


def _generated(file: CampaignFile, brokers: Sequence[str], folder: Path) -> dict[str, Scenario]:
    if not file.generated:
        return {}
    [behind] = selection.scenarios([SCENARIO], file.guarantees)
    assert isinstance(behind, DrawnScenario)
    made = generated(file, behind, brokers)
    loaded = _loaded(file, list(made.values()), folder)
    return dict(zip(made, loaded, strict=True))


def _check_configurations(axes: Axes, cells: Sequence[Cell]) -> None:
    """Raise UsageError for a configuration that conflicts with everything it would be combined with."""
    tried = {cell.configuration for cell in cells}
    for each in axes.left_out():
        if each.configuration not in tried:
            raise UsageError(
                "configuration-conflict",
                "configurations.{configuration}: it conflicts with every trial of this campaign; "
                "{situation}, {guarantee}: {conflict}",
                configuration=each.configuration,
                situation=each.situation,
                guarantee=each.guarantee,
                conflict=each.conflict,
            )


def _about(axes: Axes, cells: Sequence[Cell], chosen: Sequence[Cell], seeds: int) -> Iterator[str]:
    told = f"all {len(cells)} combinations"
    if chosen is not cells:
        told = f"covers all {len(met(cells))} pairs with {len(chosen)} of {len(cells)} combinations"
    yield f"{told}, each with {seeds} seed{'s' if seeds > 1 else ''}"
    yield from (f"left out: {sentence}" for sentence in excluded(axes.left_out()))
