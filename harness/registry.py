"""The tables of names, by entry point: the built-in parts are registered exactly as a third party's are."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from harness.check import Check
from harness.errors import KafkaTrialError, unknown
from harness.ports import BrokerKind, ClientKind, FaultKind, ProxyKind
from harness.scenario import Scenario


@cache
def table(group: str) -> dict[str, Any]:
    """Name -> object of the entry-point group ``kafka_trial.<group>``, sorted by name.

    Raises KafkaTrialError if a registered object cannot be loaded, naming who registered it.
    """
    found: dict[str, Any] = {}
    for point in sorted(entry_points(group=f"kafka_trial.{group}"), key=lambda point: point.name):
        try:
            found[point.name] = point.load()
        except Exception as error:
            owner = point.dist.name if point.dist else "an unknown distribution"
            raise KafkaTrialError(
                f"cannot load {group} {point.name!r} ({point.value}, registered by {owner}): {error}"
            ) from error
    return found


def _one(group: str, what: str, name: str) -> Any:
    known = table(group)
    if name not in known:
        raise unknown(what, name, known)
    return known[name]


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


def checks() -> dict[str, Check]:
    """All checks by name."""
    return dict(table("checks"))
