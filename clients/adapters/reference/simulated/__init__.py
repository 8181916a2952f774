"""The reference client in simulated mode: the core, its selector on the simulated network, and the contract.

It does in virtual time what the program of ``__main__`` does in live mode: an application executes one command
after the other and blocks where ``send`` does (:mod:`.application`), results are grouped into columns every 20 ms,
with a heartbeat every second (:mod:`.events`), and the core runs a round whenever there is a reason (:mod:`.client`).
"""

from __future__ import annotations

from clients.adapters.reference.simulated.application import Application
from clients.adapters.reference.simulated.client import SimulatedReference
from clients.adapters.reference.simulated.consumer import SimulatedConsumer
from clients.adapters.reference.simulated.events import Events
from clients.adapters.reference.simulated.selector import SimulatedSelector
from clients.reference.config import consumer_config
from clients.reference.config.producer_config import KEYS, ProducerConfig
from clients.reference.consumer.components import Components as ConsumerComponents
from clients.reference.producer.producer import Components
from harness.model.contract import Configure
from harness.model.dice import Dice
from harness.model.errors import UsageError
from harness.simulated.network import Network
from harness.simulated.ports import Clock, Tell

__all__ = ["Application", "Events", "SimulatedReference", "SimulatedSelector", "start"]


def start(
    name: str,
    version: str,
    producer: Components | None,
    consumer: ConsumerComponents | None,
    settings: Configure,
    network: Network,
    clock: Clock,
    dice: Dice,
    tell: Tell,
) -> SimulatedReference | SimulatedConsumer | None:
    """Return the client, started and configured. None if it rejects the settings, after a ConfigRefused event.

    ``producer`` and ``consumer`` are the components of either, None for the usual ones.
    """
    events = Events(clock(), tell)
    events.startup_complete(name, version)
    if settings.role == "consumer":
        return _consumer(consumer, settings, network, dice, events)
    known = {key: value for key, value in settings.config.items() if key in KEYS}
    try:
        config = (producer.config if producer else ProducerConfig).from_mapping(known)
    except UsageError as error:
        events.refused(str(error))
        return None
    events.configured(settings, known)
    return SimulatedReference(config, network, dice, events, producer)


def _consumer(
    components: ConsumerComponents | None, settings: Configure, network: Network, dice: Dice, events: Events
) -> SimulatedConsumer | None:
    known = {key: value for key, value in settings.config.items() if key in consumer_config.KEYS}
    try:
        config = (components or ConsumerComponents()).config.from_mapping(known)
        consumer = SimulatedConsumer(config, network, dice, events, components)
    except UsageError as error:
        events.refused(str(error))
        return None
    events.configured(settings, known)
    return consumer
