"""The tables of names: the built-in parts and a third party's are found in the same two ways.

Whatever is installed may name one part by an entry point of its group (``kafka_trial.faults``), or all that it has of
a group by a provider (:mod:`harness.plugins.providers`). To tell the names of a group loads the providers of that
group alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import TYPE_CHECKING, Any

from harness.model.errors import KafkaTrialError, unknown

if TYPE_CHECKING:  # a client's process reads these tables too, and is to be there soon
    from typer import Typer

    from harness.plugins.check import Check
    from harness.plugins.client import ClientKind
    from harness.plugins.cluster import BrokerKind
    from harness.plugins.fault import FaultKind
    from harness.plugins.providers import Provider
    from harness.plugins.proxy import ProxyKind
    from harness.plugins.scenario import Scenario
    from harness.plugins.workload import WorkloadKind


class CannotLoad(KafkaTrialError):
    """Something that is registered is broken, or registered twice; the sentence says by which distribution."""


@dataclass(frozen=True)
class _Source:
    """One way to a part: the entry point that names it, or the one of the provider that knows it."""

    point: EntryPoint
    load: Callable[[], Any]

    def __str__(self) -> str:
        owner = self.point.dist.name if self.point.dist else "an unknown distribution"
        return f"{self.point.value}, registered by {owner}"


@cache
def _points(group: str) -> EntryPoints:
    return entry_points(group=f"kafka_trial.{group}")


@cache
def _sources(group: str) -> dict[str, tuple[_Source, ...]]:
    """Name -> all that give it, sorted by name."""
    found: dict[str, list[_Source]] = defaultdict(list)
    for point in _points(group):
        found[point.name].append(_Source(point, point.load))
    for point in _points("providers").select(name=group):
        for name, load in _provided(group, point).items():
            found[name].append(_Source(point, load))
    return {name: tuple(found[name]) for name in sorted(found)}


def _provided(group: str, point: EntryPoint) -> dict[str, Callable[[], Any]]:
    source = _Source(point, point.load)
    try:
        provider: Provider = source.load()
        return {name: partial(provider.load, name) for name in provider.names() if _is_name(name)}
    except CannotLoad:
        raise
    except Exception as error:
        raise CannotLoad(f"cannot ask a provider of {group} ({source}): {_said(error)}") from error


def _is_name(name: object) -> bool:
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is no name")
    return True


def names(group: str) -> list[str]:
    """The names of the group, sorted; none of the parts is loaded. CannotLoad if a provider cannot tell its names."""
    return list(_sources(group))


@cache
def _load(group: str, name: str) -> Any:
    source, *others = _sources(group)[name]
    if others:
        ways = " and ".join(f"({each})" for each in (source, *others))
        raise CannotLoad(f"{group} {name!r} is there more than once: {ways}", hint="uninstall one of them")
    try:
        return source.load()
    except CannotLoad:
        raise
    except Exception as error:
        raise CannotLoad(f"cannot load {group} {name!r} ({source}): {_said(error)}") from error


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def table(group: str) -> dict[str, Any]:
    """Name -> object of the group. CannotLoad if there is one that cannot be loaded, or that is there twice."""
    return {name: _load(group, name) for name in names(group)}


def one(group: str, what: str, name: str) -> Any:
    """The object of that name; UsageError with a did-you-mean for ``what`` otherwise. So for the others below."""
    if name not in _sources(group):
        raise unknown(what, name, names(group))
    return _load(group, name)


def client(name: str) -> ClientKind:
    """The client kind of that name."""
    found: ClientKind = one("clients", "client", name)
    return found


def broker(name: str) -> BrokerKind:
    """The broker kind of that name."""
    found: BrokerKind = one("brokers", "broker", name)
    return found


def proxy(name: str) -> ProxyKind:
    """The proxy kind of that name."""
    found: ProxyKind = one("proxies", "proxy", name)
    return found


def fault(name: str) -> FaultKind:
    """The fault kind of that name."""
    found: FaultKind = one("faults", "fault", name)
    return found


def scenario(name: str) -> Scenario:
    """The scenario of that name."""
    found: Scenario = one("scenarios", "scenario", name)
    return found


def workload(name: str) -> WorkloadKind:
    """The workload of that name."""
    found: WorkloadKind = one("workloads", "workload", name)
    return found


def command(name: str) -> Callable[[Typer], None]:
    """The function that adds the command of that name to the command line."""
    found: Callable[[Typer], None] = one("commands", "command", name)
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
