"""What the shell may complete: names from the registry, versions of clients that were tried, settings and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import typer

from harness.model.verdicts import Guarantee, Verdict
from harness.outcomes.metrics import metrics
from harness.planning import setting_values
from harness.planning.own_load import keys
from harness.plugins import registry
from harness.plugins.workload import Values
from harness.text.version_order import by_version

Complete = Callable[[str], list[str]]
#: The groups whose parts ``explain`` explains.
SELECTABLE = ("brokers", "checks", "clients", "faults", "scenarios", "workloads")


def names(*groups: str) -> Complete:
    """Return the completion of a name in these groups of the registry."""

    def complete(incomplete: str) -> list[str]:
        known = [name for group in groups for name in registry.names(group)]
        return _starting(sorted(known, key=by_version), incomplete)

    return complete


def among(known: Iterable[str]) -> Complete:
    """Return the completion of one of these words."""
    return lambda incomplete: _starting(known, incomplete)


def clients(incomplete: str) -> list[str]:
    """Return the clients; after an ``@``, the versions of one that were tried."""
    name, at, _ = incomplete.partition("@")
    known = list(registry.names("clients"))
    if at and name in known:
        known = [f"{name}@{version}" for version in registry.client(name).versions]
    return _starting(sorted(known, key=by_version), incomplete)


def versions(context: typer.Context, incomplete: str) -> list[str]:
    """Return the versions that were tried of the client that is named before."""
    name = context.params.get("client")
    known = registry.client(name).versions if name in registry.names("clients") else ()
    return _starting(known, incomplete)


def brokers(incomplete: str) -> list[str]:
    """Return the brokers as KIND:ID, each kind with the ids that it gives as examples."""
    known = [f"{name}:{each}" for name, kind in registry.table("brokers").items() for each in kind.examples]
    return _starting(known, incomplete)


def guarantees(incomplete: str) -> list[str]:
    """Return the guarantees."""
    return _starting(Guarantee, incomplete)


def outcomes(incomplete: str) -> list[str]:
    """Return the metrics, with which a threshold begins."""
    return _starting(metrics(), incomplete)


def settings(incomplete: str) -> list[str]:
    """Return the Java names of settings as ``KEY=``, and after it the values of a setting that lists them."""
    key, equals, _ = incomplete.partition("=")
    known = setting_values.known()
    if not equals:
        return _starting([f"{name}=" for name in sorted(known)], incomplete)
    found = [value for values in known.get(key, ()) for value in _listed(values)]
    return _starting([f"{key}={value}" for value in dict.fromkeys(found)], incomplete)


def loads(incomplete: str) -> list[str]:
    """Return the keys of a load as ``KEY=``, also after a comma."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{each}" for each in _starting([f"{key}=" for key in keys()], last)]


def explained(incomplete: str) -> list[str]:
    """Return the names that ``explain`` takes: parts, requirements, guarantees, settings and verdicts."""
    known = {name for group in SELECTABLE for name in registry.names(group)}
    known |= {id for table_of in registry.table("behaviours").values() for id in table_of()}
    known |= {*map(str, Guarantee), *map(str, Verdict), *setting_values.known()}
    return _starting(sorted(known, key=by_version), incomplete)


def _listed(values: Values) -> tuple[str, ...]:
    if values is None:
        return ("true", "false")
    return values if isinstance(values, tuple) else ()


def _starting(known: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in map(str, known) if name.startswith(incomplete)]
