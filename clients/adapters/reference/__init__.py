"""The reference client as a client under test: a process like any other, at the one version that is installed."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from harness.model.errors import UsageError
from harness.plugins.client import Launch

if TYPE_CHECKING:
    from harness.model.contract import Configure
    from harness.model.dice import Dice
    from harness.simulated.network import Network
    from harness.simulated.ports import Clock, SimulatedClient, Tell

#: Names the seeded defect with which the program runs; for the mutants' own client kinds only.
MUTANT = "KAFKA_TRIAL_MUTANT"


def project_version() -> str:
    """The version of this project, which is the reference client's."""
    try:
        return version("kafka-trial")
    except PackageNotFoundError:
        return "0.1.0"  # a source tree that is on the path without being installed


class Reference:
    """The client kind ``reference``, and with a ``mutant`` the kind ``mutant-<name>``, which no default list shows."""

    language = "python"

    def __init__(self, mutant: str = "", defect: str = "") -> None:
        self.mutant = bool(mutant)
        self.name = f"mutant-{mutant}" if mutant else "reference"
        self.summary = f"the reference client, which {defect}" if mutant else "the reference client"
        self.default_version = project_version()
        self.versions: tuple[str, ...] = (self.default_version,)
        self._env = {MUTANT: mutant}

    def simulated(
        self, settings: Configure, network: Network, clock: Clock, dice: Dice, tell: Tell
    ) -> SimulatedClient | None:
        """The client inside the simulated world; see :class:`harness.simulated.ports.SimulatedClientKind`."""
        from clients.adapters.reference.simulated import start
        from clients.seeding.table import components_of

        mutant = self._env[MUTANT]
        components = components_of(mutant) if mutant else None
        return start(self.name, self.default_version, components, settings, network, clock, dice, tell)

    def install(self, version: str) -> Launch:
        """Nothing to install; see :class:`harness.plugins.client.ClientKind`."""
        if version != self.default_version:
            raise UsageError(f"{self.name} exists only at version {self.default_version}, not at {version}")
        # -P: no folder that happens to be the current one can stand in for ours.
        return Launch(argv=(sys.executable, "-P", "-m", "clients.adapters.reference"), env=self._env)

    def published(self) -> list[str]:
        """The project's own version: the client is published with it, and in it."""
        return [self.default_version]


CLIENT = Reference()
