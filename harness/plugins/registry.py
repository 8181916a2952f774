"""The tables of names. Built-in and third-party parts are found in the same two ways.

A distribution registers a single part with an entry point of its group (``kafka_trial.faults``), or all its parts of a
group with a provider (:mod:`harness.plugins.providers`). Listing the names of a group loads only the providers of that
group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import TYPE_CHECKING, Any

from harness.model.errors import KafkaTrialError, unknown

if TYPE_CHECKING:  # client processes use these tables too, and must start quickly
    from typer import Typer

    from harness.plugins.behaviour import Behaviour
    from harness.plugins.check import Check
    from harness.plugins.client import ClientKind
    from harness.plugins.cluster import BrokerKind
    from harness.plugins.fault import FaultKind
    from harness.plugins.mutant import Mutant
    from harness.plugins.providers import Provider
    from harness.plugins.proxy import ProxyKind
    from harness.plugins.scenario import Scenario
    from harness.plugins.workload import WorkloadKind


class CannotLoad(KafkaTrialError):
    """A registered part is broken or registered twice. The message names the distribution."""


@dataclass(frozen=True)
class _Source:
    """One way to load a part: its own entry point, or the entry point of the provider that has it."""

    point: EntryPoint
    load: Callable[[], Any]

    def __str__(self) -> str:
        owner = self.point.dist.name if self.point.dist else "an unknown distribution"
        return f"{self.point.value}, registered by {owner}"


#: Group -> name -> the part that is found there instead of the registered one.
_replaced: dict[str, dict[str, Any]] = {}


@contextmanager
def replaced(group: str, parts: Mapping[str, Any]) -> Iterator[None]:
    """Find ``parts`` under their names in the block, instead of what is registered there and beside all others.

    For callers that have parts of their own in this process, such as tests. The parts are not checked.
    """
    before = _replaced.get(group, {})
    _replaced[group] = {**before, **parts}
    try:
        yield
    finally:
        _replaced[group] = before


def forget() -> None:
    """Forget the installed distributions and loaded parts, so that changes of them are found."""
    for known in (_points, _sources, _load):
        known.cache_clear()


@cache
def _points(group: str) -> EntryPoints:
    return entry_points(group=f"kafka_trial.{group}")


@cache
def _sources(group: str) -> dict[str, tuple[_Source, ...]]:
    """Return name -> all sources of the part, sorted by name."""
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
        raise CannotLoad(
            "provider-failed",
            "cannot list the parts of a provider of {group} ({source}): {said}",
            group=group,
            source=source,
            said=_said(error),
        ) from error


def _is_name(name: object) -> bool:
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is no name")
    return True


def names(group: str) -> list[str]:
    """Return the names of the group, sorted, without loading a part.

    Raises CannotLoad if a provider cannot list its names.
    """
    return sorted({*_sources(group), *_replaced.get(group, ())})


def _part(group: str, name: str) -> Any:
    own = _replaced.get(group, {})
    return own[name] if name in own else _load(group, name)


@cache
def _load(group: str, name: str) -> Any:
    source, *others = _sources(group)[name]
    if others:
        ways = " and ".join(f"({each})" for each in (source, *others))
        raise CannotLoad(
            "name-registered-twice",
            "{group} {name!r} is registered more than once: {ways}",
            hint="uninstall one of them",
            group=group,
            name=name,
            ways=ways,
        )
    try:
        return source.load()
    except CannotLoad:
        raise
    except Exception as error:
        raise CannotLoad(
            "part-failed-to-load",
            "cannot load {group} {name!r} ({source}): {said}",
            group=group,
            name=name,
            source=source,
            said=_said(error),
        ) from error


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def table(group: str) -> dict[str, Any]:
    """Return name -> object of the group. Raise CannotLoad if one cannot be loaded or is registered twice."""
    return {name: _part(group, name) for name in names(group)}


def one(group: str, what: str, name: str) -> Any:
    """Return the object with that name. Raise UsageError with a suggestion for ``what`` if there is none.

    The functions below do the same.
    """
    if name not in _sources(group) and name not in _replaced.get(group, ()):
        raise unknown(what, name, names(group))
    return _part(group, name)


def client(name: str) -> ClientKind:
    """Return the client kind with that name."""
    found: ClientKind = one("clients", "client", name)
    return found


def broker(name: str) -> BrokerKind:
    """Return the broker kind with that name."""
    found: BrokerKind = one("brokers", "broker", name)
    return found


def proxy(name: str) -> ProxyKind:
    """Return the proxy kind with that name."""
    found: ProxyKind = one("proxies", "proxy", name)
    return found


def fault(name: str) -> FaultKind:
    """Return the fault kind with that name."""
    found: FaultKind = one("faults", "fault", name)
    return found


def scenario(name: str) -> Scenario:
    """Return the scenario with that name."""
    found: Scenario = one("scenarios", "scenario", name)
    return found


def workload(name: str) -> WorkloadKind:
    """Return the workload with that name."""
    found: WorkloadKind = one("workloads", "workload", name)
    return found


def mutant(name: str) -> Mutant:
    """Return the mutant with that name."""
    found: Mutant = one("mutants", "mutant", name)
    return found


def command(name: str) -> Callable[[Typer], None]:
    """Return the function that adds the command with that name to the command line."""
    found: Callable[[Typer], None] = one("commands", "command", name)
    return found


def checks() -> dict[str, Check]:
    """Return all checks by name."""
    return table("checks")


def statement(requirement_id: str) -> str | None:
    """Return the sentence of a behaviour id from the installed catalogues, or None if no catalogue has it."""
    for table_of in table("behaviours").values():
        behaviours: Mapping[str, Behaviour] = table_of()
        if requirement_id in behaviours:
            return behaviours[requirement_id].statement
    return None
