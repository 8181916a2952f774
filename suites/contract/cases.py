"""The cases of the contract. Each requires one thing of a client, and returns if the client did it.

The conversation checks in all of them what every line must obey: numbers without a gap, the right clock, one
result per record, and answers to the commands that were sent.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from harness.adapter import ConfigRefused, Conversation
from harness.model.contract import AnyEvent, Configured, Fatal, OpComplete, OpInvoke, Setting, Stats
from harness.model.spec import OWN, ClientRef, TrialSpec, Workload
from harness.model.units import some
from harness.model.verdicts import Guarantee, Outcome
from harness.plugins.workload import Config, WorkloadKind
from harness.trial.patience import LIMITS

UNKNOWN_COMMAND = "recite_a_poem"
ELEMENTS = 3
LIMIT_MS = 1_500
CLOSE_TIMEOUT_MS = 1_000
#: Short waits, as far as the workload has these settings.
SHORT = {"linger.ms": 5, "max.block.ms": 500, "reconnect.backoff.max.ms": 1_000, "request.timeout.ms": 1_000}


class Unmannerly(Exception):
    """The client did something other than the case requires. The message says what."""


@dataclass(frozen=True)
class Guest:
    """One client process, its events, how late it may be, an address that refuses it, and what it is asked to do."""

    says: Conversation
    heard: list[AnyEvent]
    patience_s: float
    nowhere: str
    workload: WorkloadKind

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the configuration, one of the workload's."""
        known = self.workload.features
        return Guarantee.AT_LEAST_ONCE if Guarantee.AT_LEAST_ONCE in known else next(iter(known))

    def config(self, limit_ms: int = LIMIT_MS) -> dict[str, Setting]:
        """Return a full, legal configuration. ``limit_ms`` is the time for each element."""
        usual = self.workload.config(self.guarantee, {})
        short = SHORT | dict.fromkeys(LIMITS, limit_ms)
        own: Config = {name: value for name, value in short.items() if name in usual}
        where: Config = {"bootstrap.servers": self.nowhere, "client.id": "contract"}
        return self.workload.config(self.guarantee, own) | where

    async def configure(self, config: dict[str, Setting]) -> Configured:
        """Start the client and configure it."""
        await self.says.startup(self.patience_s)
        role = self.workload.role
        return await self.says.configure("contract", "p1", config, role=role, timeout_s=self.patience_s)

    async def load(self) -> None:
        """Give the client a few elements of its work."""
        client = ClientRef("contract", OWN, ("contract",))
        work = Workload(records=ELEMENTS, chunk=ELEMENTS, kind=self.workload.name)
        spec = TrialSpec("contract", client, "", "", self.guarantee, 0, work, (), {})
        await self.says.load(self.workload.command(spec, "contract", "contract", range(ELEMENTS)))

    async def must_leave(self, why: str) -> None:
        """Check that the client sends ``shutdown_complete`` and exits with 0."""
        await self.says.ended(self.patience_s)
        if self.says.error is not None:
            raise Unmannerly(f"after {why}: {self.says.error}")


async def startup(guest: Guest) -> None:
    """The client introduces itself: its name, the version that really runs, and its language."""
    event = await guest.says.startup(guest.patience_s)
    for name in ("client", "client_version", "language"):
        if not getattr(event, name):
            raise Unmannerly(f"expected a text in {name} of startup_complete, got none")


async def unknown_command(guest: Guest) -> None:
    """The client answers an unknown command with unsupported, and continues."""
    await guest.says.startup(guest.patience_s)
    await guest.says.ask_unknown(UNKNOWN_COMMAND, guest.patience_s)
    await guest.says.close(CLOSE_TIMEOUT_MS)


async def garbage_line(guest: Guest) -> None:
    """The client gives up with fatal and a non-zero exit on a line that is not a command."""
    await guest.says.startup(guest.patience_s)
    await guest.says.say(b"this is no command")
    code = await guest.says.ended(guest.patience_s)
    if code == 0 or not isinstance(guest.heard[-1], Fatal):
        raise Unmannerly(f"expected fatal and a non-zero exit after a garbage line, got exit {code}")


async def sigterm(guest: Guest) -> None:
    """The client closes and exits with 0 on SIGTERM."""
    await guest.says.startup(guest.patience_s)
    guest.says.terminate()
    await guest.must_leave("SIGTERM")


async def end_of_input(guest: Guest) -> None:
    """The client closes and exits with 0 at the end of its stdin."""
    await guest.configure(guest.config())
    guest.says.hang_up()
    await guest.must_leave("the end of stdin")


async def heartbeat(guest: Guest) -> None:
    """The client sends stats each second, also while nothing happens."""
    await guest.says.startup(guest.patience_s)

    def beats_twice() -> bool:
        return sum(isinstance(event, Stats) for event in guest.heard) >= 2

    if not await guest.says.until(beats_twice, guest.patience_s):
        raise Unmannerly(f"expected stats each second, got not two in {guest.patience_s:g} s")


async def configuration(guest: Guest) -> None:
    """The client accounts for every setting: applied under which name, or not set and why."""
    await guest.configure(guest.config())


async def bad_setting(guest: Guest) -> None:
    """The client does not accept a value that makes no sense."""
    config = guest.config()
    name = next((name for name in config if name in guest.workload.settings), None)
    if name is None:
        return
    try:
        answer = await guest.configure(config | {name: "banana"})
    except ConfigRefused:
        return
    if name not in answer.not_set:
        raise Unmannerly(f"expected {name}=banana to be refused or not set, it was applied")


async def dead_address(guest: Guest) -> None:
    """The client reports no success without a broker, and still answers a flush."""
    await guest.configure(guest.config())
    await guest.load()
    element, ops = guest.workload.element, {command.op for command in guest.workload.commands}
    answer = await guest.says.flush(2 * LIMIT_MS)
    if answer is None:
        raise Unmannerly("expected an answer to flush within its timeout, got nothing")
    if sum(event.count for event in guest.heard if isinstance(event, OpInvoke)) != ELEMENTS:
        raise Unmannerly(f"expected op_invoke for {ELEMENTS} {element}s before the answer to flush")
    results = [event for event in guest.heard if isinstance(event, OpComplete) and event.op in ops]
    if any(outcome == Outcome.OK for event in results for outcome in event.outcome):
        raise Unmannerly(f"a {element} is {guest.workload.done} although no broker was there")
    if answer.outcome == [Outcome.OK] and guest.says.outstanding:
        raise Unmannerly(f"flush is ok although {some(guest.says.outstanding, element)} have no result")
    await guest.says.close(CLOSE_TIMEOUT_MS)


async def close_in_time(guest: Guest) -> None:
    """The client closes within its timeout, whatever it still has to send."""
    await guest.configure(guest.config(limit_ms=300_000))
    await guest.load()
    if await guest.says.close(CLOSE_TIMEOUT_MS) is None:
        raise Unmannerly("expected an answer to close within its timeout, got nothing")


Case = Callable[[Guest], Awaitable[None]]

CASES: dict[str, Case] = {
    "startup": startup,
    "unknown-command": unknown_command,
    "garbage-line": garbage_line,
    "sigterm": sigterm,
    "end-of-input": end_of_input,
    "heartbeat": heartbeat,
    "configuration": configuration,
    "bad-setting": bad_setting,
    "dead-address": dead_address,
    "close-in-time": close_in_time,
}


@contextmanager
def refusing_port() -> Iterator[int]:
    """Yield a port of 127.0.0.1 that is bound and does not listen, so that connections are refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
