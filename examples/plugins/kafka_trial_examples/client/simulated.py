"""The client in simulated mode: the same logic, on the simulated network and in virtual time."""

from __future__ import annotations

from collections.abc import Callable

from kafka_trial.api import AnyEvent, Configure, Network
from kafka_trial_examples.client.building import built
from kafka_trial_examples.client.lookup_client import LookupClient
from kafka_trial_examples.client.voice import Voice


class SimulatedLookup:
    """The client, which takes note of the network's news whenever it acts."""

    trace = ()

    def __init__(self, client: LookupClient, network: Network) -> None:
        self._client, self._network = client, network
        self.load, self.flush, self.close = client.load, client.flush, client.close

    def step(self, now_ns: int) -> int | None:
        """See :meth:`LookupClient.step`."""
        self._network.news = False
        return self._client.step(now_ns)


def start(
    name: str,
    version: str,
    settings: Configure,
    network: Network,
    clock: Callable[[], int],
    tell: Callable[[AnyEvent], None],
) -> SimulatedLookup | None:
    """Return the client, started and configured, or None if it refuses the settings."""
    voice = Voice(clock, lambda: network.wall_ns, tell)
    voice.started(name, version)
    try:
        client = built(name, settings, voice, network.connect)
    except ValueError as error:
        voice.failed("ConfigRefused", str(error))
        return None
    return SimulatedLookup(client, network)
