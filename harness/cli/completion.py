"""What the shell may complete: names from the registry, and the versions of clients that were tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from harness.model.verdicts import Guarantee
from harness.outcomes.metrics import metrics
from harness.plugins import registry
from harness.text.version_order import by_version

Complete = Callable[[str], list[str]]
SELECTABLE = ("brokers", "checks", "clients", "faults", "scenarios", "workloads")


def names(*groups: str) -> Complete:
    """Return the completion of a name in these groups of the registry."""

    def complete(incomplete: str) -> list[str]:
        known = [name for group in groups for name in registry.names(group)]
        return _starting(sorted(known, key=by_version), incomplete)

    return complete


def clients(incomplete: str) -> list[str]:
    """Return the clients; after an ``@``, the versions of one that were tried."""
    name, at, _ = incomplete.partition("@")
    known = list(registry.names("clients"))
    if at and name in known:
        known = [f"{name}@{version}" for version in registry.client(name).versions]
    return _starting(sorted(known, key=by_version), incomplete)


def guarantees(incomplete: str) -> list[str]:
    """Return the guarantees."""
    return _starting(Guarantee, incomplete)


def outcomes(incomplete: str) -> list[str]:
    """Return the metrics, with which a threshold begins."""
    return _starting(metrics(), incomplete)


def _starting(known: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in map(str, known) if name.startswith(incomplete)]
