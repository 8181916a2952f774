"""The providers of the built-in clients and of the mutants. Each mutant is also a client."""

from __future__ import annotations

from harness.plugins import registry
from harness.plugins.client import ClientKind
from harness.plugins.mutant import PREFIX
from harness.plugins.providers import OneFileEach

ADAPTERS = OneFileEach(f"{__package__}.adapters", "CLIENT")


class _Clients:
    """The folders of ``clients/adapters``, except the ``_lib`` of a language, and one client per mutant."""

    def names(self) -> list[str]:
        adapters = [name.replace("_", "-") for name in ADAPTERS.names() if not name.endswith("_lib")]
        return [*adapters, *(f"{PREFIX}{name}" for name in registry.names("mutants"))]

    def load(self, name: str) -> ClientKind:
        if name.startswith(PREFIX):
            return registry.mutant(name.removeprefix(PREFIX)).client(name)
        found: ClientKind = ADAPTERS.load(name.replace("-", "_"))
        return found


CLIENTS = _Clients()
MUTANTS = OneFileEach(f"{__package__}.mutants", "MUTANT")
