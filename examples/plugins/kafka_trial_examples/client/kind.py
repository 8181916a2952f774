"""The client kind ``lookup``, in both modes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_trial.api import Launch, UsageError

if TYPE_CHECKING:
    from kafka_trial.api import AnyEvent, Configure, Dice, Network, SimulatedClient

NAME: Final = "lookup"
VERSION: Final = "1.0"


class LookupKind:
    """See :class:`kafka_trial.api.ClientKind` and :class:`kafka_trial.api.SimulatedClientKind`."""

    language = "python"
    default_version = VERSION
    versions: tuple[str, ...] = (VERSION,)

    def __init__(self, name: str, summary: str) -> None:
        self.name, self.summary = name, summary

    def install(self, version: str) -> Launch:
        """Return how to start the program, which is installed with this package."""
        if version != VERSION:
            raise UsageError(
                "client-version-fixed",
                "{name} exists only at version {known}, not at {version}",
                name=self.name,
                known=VERSION,
                version=version,
            )
        package = Path(__file__).parents[2]
        argv = (sys.executable, "-P", "-m", "kafka_trial_examples.client", self.name)
        return Launch(argv, {"PYTHONPATH": str(package)})

    def published(self) -> list[str]:
        """Return the only version."""
        return [VERSION]

    def simulated(
        self,
        settings: Configure,
        network: Network,
        clock: Callable[[], int],
        dice: Dice,
        tell: Callable[[AnyEvent], None],
    ) -> SimulatedClient | None:
        """Return the client in simulated mode."""
        from kafka_trial_examples.client.simulated import start

        return start(self.name, VERSION, settings, network, clock, tell)


CLIENT: Final = LookupKind(NAME, "asks brokers for metadata, one question at a time")
