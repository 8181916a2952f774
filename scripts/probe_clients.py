"""Query every client at every tested version for its settings and features, and write the answers beside its adapter.

    python scripts/probe_clients.py [NAME ...]

``docs/reference/clients.md`` is made from these files, and ``make test-clients`` compares them with what the clients
say.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import msgspec

from harness.files import write_named
from harness.model.errors import EnvironmentProblem
from harness.plugins import registry
from suites.contract.probe import Capabilities, ask

ADAPTERS = Path(__file__).parents[1] / "clients" / "adapters"


def main(names: list[str]) -> int:
    """Query these clients, or all of them. Return 1 if one could not be installed."""
    missing = 0
    for name in names or asked_clients():
        kind = registry.client(name)
        told: dict[str, Capabilities] = {}
        for version in kind.versions:
            try:
                launch = kind.install(version)
            except EnvironmentProblem as problem:
                sys.stderr.write(f"{name}@{version}: {problem}\n")
                missing += 1
                continue
            with tempfile.TemporaryDirectory() as logs:
                told[version] = asyncio.run(ask(launch, Path(logs)))
            sys.stderr.write(f"{name}@{version}: {', '.join(told[version].features)}\n")
        if len(told) == len(kind.versions):
            path = ADAPTERS / name.replace("-", "_") / "capabilities.json"
            write_named(path, msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")
    return 1 if missing else 0


def asked_clients() -> list[str]:
    """Return all clients except the mutants."""
    return [name for name in registry.names("clients") if not name.startswith("mutant-")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
