"""The tables of names, by entry point: the built-in parts are registered exactly as a third party's are."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from typer import Typer

from harness.model.errors import KafkaTrialError, unknown
from harness.plugins.check import Check
from harness.plugins.client import ClientKind
from harness.plugins.cluster import BrokerKind
from harness.plugins.fault import FaultKind
from harness.plugins.proxy import ProxyKind
from harness.plugins.scenario import Scenario
from harness.plugins.workload import WorkloadKind


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    found = entry_points(group=f"kafka_trial.{group}")
    return {point.name: point for point in sorted(found, key=lambda point: point.name)}


def names(group: str) -> list[str]:
    """The names of the entry-point group ``kafka_trial.<group>``, sorted; nothing is loaded."""
    return list(_points(group))


@cache
def _load(group: str, name: str) -> Any:
    point = _points(group)[name]
    try:
        return point.load()
    except Exception as error:
        owner = point.dist.name if point.dist else "an unknown distribution"
        raise KafkaTrialError(
            f"cannot load {group} {name!r} ({point.value}, registered by {owner}): {error}"
        ) from error


def table(group: str) -> dict[str, Any]:
    """Name -> object of the group. KafkaTrialError if one cannot be loaded, naming who registered it."""
    return {name: _load(group, name) for name in _points(group)}


def _one(group: str, what: str, name: str) -> Any:
    if name not in _points(group):
        raise unknown(what, name, _points(group))
    return _load(group, name)


def client(name: str) -> ClientKind:
    """The client kind of that name; UsageError with a did-you-mean otherwise. So for the others below."""
    found: ClientKind = _one("clients", "client", name)
    return found


def broker(name: str) -> BrokerKind:
    """The broker kind of that name."""
    found: BrokerKind = _one("brokers", "broker", name)
    return found


def proxy(name: str) -> ProxyKind:
    """The proxy kind of that name."""
    found: ProxyKind = _one("proxies", "proxy", name)
    return found


def fault(name: str) -> FaultKind:
    """The fault kind of that name."""
    found: FaultKind = _one("faults", "fault", name)
    return found


def scenario(name: str) -> Scenario:
    """The scenario of that name."""
    found: Scenario = _one("scenarios", "scenario", name)
    return found


def workload(name: str) -> WorkloadKind:
    """The workload of that name."""
    found: WorkloadKind = _one("workloads", "workload", name)
    return found


def command(name: str) -> Callable[[Typer], None]:
    """The function that adds the command of that name to the command line."""
    found: Callable[[Typer], None] = _one("commands", "command", name)
    return found


def checks() -> dict[str, Check]:
    """All checks by name."""
    return table("checks")


def statement(requirement_id: str) -> str | None:
    """What a behaviour id says, in one sentence, by whoever has a table of them; None if nobody knows it."""
    for table_of in table("behaviours").values():
        if (behaviour := table_of().get(requirement_id)) is not None:
            return str(behaviour.statement)
    return None
