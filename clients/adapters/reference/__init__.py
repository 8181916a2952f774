"""The reference client as a client under test: an ordinary process, only at the installed version."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING

from clients.known_settings import AdapterSettings
from harness.model.errors import UsageError
from harness.plugins.client import Launch

if TYPE_CHECKING:
    from harness.model.contract import Configure
    from harness.model.dice import Dice
    from harness.simulated.network import Network
    from harness.simulated.ports import Clock, SimulatedClient, SimulatedMember, Tell

#: The name of the seeded defect with which the program runs. Only the mutants' client kinds set it.
MUTANT = "KAFKA_TRIAL_MUTANT"


def project_version() -> str:
    """Return the version of this project, which is also that of the reference client."""
    try:
        return version("kafka-trial")
    except PackageNotFoundError:
        return "0.1.0"  # a source tree on the path that is not installed


class Reference(AdapterSettings):
    """The client kind ``reference``, or ``mutant-<name>`` with a ``mutant``. Default lists do not include mutants."""

    language = "python"
    reserved = MappingProxyType({"*": "the reference client has only Java's settings"})

    def __init__(self, mutant: str = "", defect: str = "") -> None:
        self.mutant = bool(mutant)
        self.name = f"mutant-{mutant}" if mutant else "reference"
        self.summary = f"the reference client, which {defect}" if mutant else "the reference client"
        self.default_version = project_version()
        self.versions: tuple[str, ...] = (self.default_version,)
        self._env = {MUTANT: mutant}

    def simulated(
        self, settings: Configure, network: Network, clock: Clock, dice: Dice, tell: Tell
    ) -> SimulatedClient | SimulatedMember | None:
        """Return the client in simulated mode. See :class:`harness.simulated.ports.SimulatedClientKind`."""
        from clients.adapters.reference.simulated import start
        from clients.seeding.table import components_of, consumer_components_of

        mutant = self._env[MUTANT]
        producer = components_of(mutant) if mutant else None
        consumer = consumer_components_of(mutant) if mutant else None
        return start(
            self.name, self.default_version, producer, consumer, settings, network, clock, dice, tell
        )

    def install(self, version: str) -> Launch:
        """Return how to start the program, which needs no installation.

        See :class:`harness.plugins.client.ClientKind`.
        """
        if version != self.default_version:
            raise UsageError(
                "client-version-fixed",
                "{name} exists only at version {known}, not at {version}",
                name=self.name,
                known=self.default_version,
                version=version,
            )
        # -P: modules in the current directory must not shadow the project's.
        return Launch(argv=(sys.executable, "-P", "-m", __name__), env=self._env)

    def published(self) -> list[str]:
        """Return the project's own version: the client is published with it."""
        return [self.default_version]


CLIENT = Reference()
