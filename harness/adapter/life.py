"""The phases of a client process, and the events that each of them allows."""

from __future__ import annotations

from enum import Enum

from harness.model.consumer_contract import ConsumerEvent
from harness.model.contract import (
    AnyEvent,
    Configured,
    Fatal,
    OpComplete,
    OpInvoke,
    ShutdownComplete,
    StartupComplete,
    Stats,
    UnknownCommand,
)


class Life(Enum):
    """The phases of a client process."""

    STARTING = "starting"
    UP = "up"
    CONFIGURED = "configured"
    SHUT_DOWN = "shut down"
    DEAD = "dead"


#: The events that are allowed in each phase, and the phase that follows. All others break the contract.
LIFE: dict[tuple[Life, type[AnyEvent]], Life] = {
    (Life.STARTING, StartupComplete): Life.UP,
    (Life.STARTING, Fatal): Life.DEAD,
    (Life.UP, Configured): Life.CONFIGURED,
    (Life.UP, OpInvoke): Life.UP,
    (Life.UP, OpComplete): Life.UP,
    (Life.UP, Stats): Life.UP,
    (Life.UP, UnknownCommand): Life.UP,
    (Life.UP, Fatal): Life.DEAD,
    (Life.UP, ShutdownComplete): Life.SHUT_DOWN,
    (Life.CONFIGURED, OpInvoke): Life.CONFIGURED,
    (Life.CONFIGURED, OpComplete): Life.CONFIGURED,
    (Life.CONFIGURED, Stats): Life.CONFIGURED,
    (Life.CONFIGURED, UnknownCommand): Life.CONFIGURED,
    (Life.CONFIGURED, Fatal): Life.DEAD,
    (Life.CONFIGURED, ShutdownComplete): Life.SHUT_DOWN,
    **{(Life.CONFIGURED, kind): Life.CONFIGURED for kind in ConsumerEvent.__args__},
}
