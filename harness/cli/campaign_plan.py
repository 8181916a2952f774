"""Expands a campaign file to its plan, with sentences on what the plan includes and what it leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import Collecting, NothingSelected, UsageError
from harness.model.spec import ClientRef, Plan
from harness.planning import own_commands, selection, user_settings
from harness.planning.campaign_file import SCENARIO, CampaignFile, Client, Combine, configurations, generated
from harness.planning.fault_strategies import DrawnScenario
from harness.planning.pairwise import met, pairwise
from harness.planning.plan import Axes, Cell, excluded, plan_of
from harness.planning.strict_toml import at
from harness.plugins import registry
from harness.plugins.scenario import Config, Scenario
from harness.text.counting import some

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

    Raise UsageError for unknown names in it, all of them at once.
    """
    axes = axes_of(file, clients, given, folder, announce)
    cells = axes.cells()
    _check_configurations(axes, cells)
    if not cells:
        raise NothingSelected("empty-plan", "none of its combinations is possible")
    chosen = pairwise(cells) if file.combine is Combine.PAIRWISE else cells
    return Expanded(plan_of(axes, chosen, seeds), tuple(_about(axes, cells, chosen, len(seeds))))


def axes_of(
    file: CampaignFile,
    clients: Sequence[ClientRef] = (),
    given: Sequence[str] = (),
    folder: Path = Path(),
    announce: Callable[[Sequence[ClientRef]], Sequence[ClientRef]] = lambda refs: refs,
) -> Axes:
    """Return what a file combines. Raise Problems for all that is wrong in it."""
    errors = Collecting()
    brokers: list[str] = []
    scenarios: list[Scenario] = []
    drawn: dict[str, Scenario] = {}
    settings: dict[str, Config] = {}
    with errors.each():
        brokers = _brokers(file)
    with errors.each():
        clients = clients or list(dict.fromkeys(_clients(file, folder)))
    with errors.each():
        scenarios = _scenarios(file)
    with errors.each():
        drawn = _generated(file, brokers)
    with errors.each():
        scenarios, drawn = _loaded(file, scenarios, folder), _all_loaded(file, drawn, folder)
    with errors.each():
        settings = configurations(file)
    errors.check()
    clients = announce(clients)
    return Axes(scenarios, clients, brokers, drawn, settings, user_settings.parsed(given, clients))


def counts(plan: Plan) -> Iterator[str]:
    """Yield the number of trials per client, per scenario, and per variant that the file adds."""
    for what, names in (
        ("client", [str(spec.client) for spec in plan.trials]),
        ("scenario", [spec.scenario for spec in plan.trials]),
        ("variant", [spec.variant for spec in plan.trials if spec.variant]),
    ):
        if names:
            yield f"trials by {what}: {', '.join(f'{name} {count}' for name, count in Counter(names).items())}"


def _clients(file: CampaignFile, folder: Path) -> list[ClientRef]:
    if not file.clients:
        return selection.clients((), ())
    found: list[ClientRef] = []
    errors = Collecting()
    for number, client in enumerate(file.clients):
        with errors.each(), at(f"clients[{number}]"):
            found += selection.clients([client], ()) if isinstance(client, str) else _of_table(client, folder)
    errors.check()
    return found


def _of_table(client: Client, folder: Path) -> list[ClientRef]:
    if client.command and client.versions:
        raise UsageError("command-with-versions", "a command has no versions; remove one of the two keys")
    if client.command:
        return [own_commands.client(_placed(client.command, folder), client.name)]
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


def _placed(command: Sequence[str], folder: Path) -> list[str]:
    """Return a command whose relative paths, which begin at ``folder``, are absolute."""
    is_path = [word.startswith(("./", "../")) for word in command]
    is_path[0] = is_path[0] or "/" in command[0]
    placed = [
        str((folder / word).absolute()) if path else word for word, path in zip(command, is_path, strict=True)
    ]
    selection.assert_program(placed[0], command[0])
    return placed


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


def _all_loaded(file: CampaignFile, drawn: dict[str, Scenario], folder: Path) -> dict[str, Scenario]:
    return dict(zip(drawn, _loaded(file, list(drawn.values()), folder), strict=True))


def _generated(file: CampaignFile, brokers: Sequence[str]) -> dict[str, Scenario]:
    if not file.generated:
        return {}
    [behind] = selection.scenarios([SCENARIO], file.guarantees)
    assert isinstance(behind, DrawnScenario)
    return dict(generated(file, behind, brokers))


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
    count = some(len(cells), "combination")
    told = f"all {count}" if len(cells) > 1 else count
    if chosen is not cells:
        told = f"covers all {some(len(met(cells)), 'pair')} with {len(chosen)} of {count}"
    yield f"{told}, each with {some(seeds, 'seed')}"
    yield from (f"left out: {sentence}" for sentence in excluded(axes.left_out()))
