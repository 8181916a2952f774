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
from harness.model.verdicts import Guarantee, Outcome
from harness.plugins.workload import Config, WorkloadKind
from harness.text.counting import some
from harness.text.sentences import Coded
from harness.trial.patience import LIMITS

UNKNOWN_COMMAND = "recite_a_poem"
ELEMENTS = 3
LIMIT_MS = 1_500
CLOSE_TIMEOUT_MS = 1_000
#: Short waits, as far as the workload has these settings.
SHORT = {"linger.ms": 5, "max.block.ms": 500, "reconnect.backoff.max.ms": 1_000, "request.timeout.ms": 1_000}


class ContractViolation(Coded):
    """The client did something other than the case requires. The message says what."""


@dataclass(frozen=True)
class ClientProcess:
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
        work = Workload(records=ELEMENTS, records_per_command=ELEMENTS, kind=self.workload.name)
        spec = TrialSpec("contract", client, "", "", self.guarantee, 0, work, (), {})
        await self.says.load(self.workload.command(spec, "contract", "contract", range(ELEMENTS)))

    async def must_leave(self, why: str) -> None:
        """Check that the client sends ``shutdown_complete`` and exits with 0."""
        await self.says.ended(self.patience_s)
        if self.says.error is not None:
            raise ContractViolation("ended-after", "after {why}: {error}", why=why, error=self.says.error)


async def startup(client: ClientProcess) -> None:
    """The client introduces itself: its name, the version that really runs, and its language."""
    event = await client.says.startup(client.patience_s)
    for name in ("client", "client_version", "language"):
        if not getattr(event, name):
            raise ContractViolation(
                "startup-text-missing", "expected a text in {name} of startup_complete, got none", name=name
            )


async def unknown_command(client: ClientProcess) -> None:
    """The client answers an unknown command with unsupported, and continues."""
    await client.says.startup(client.patience_s)
    await client.says.ask_unknown(UNKNOWN_COMMAND, client.patience_s)
    await client.says.close(CLOSE_TIMEOUT_MS)


async def garbage_line(client: ClientProcess) -> None:
    """The client gives up with fatal and a non-zero exit on a line that is not a command."""
    await client.says.startup(client.patience_s)
    await client.says.say(b"this is no command")
    code = await client.says.ended(client.patience_s)
    if code == 0 or not isinstance(client.heard[-1], Fatal):
        raise ContractViolation(
            "garbage-accepted",
            "expected fatal and a non-zero exit after a garbage line, got exit {code}",
            code=code,
        )


async def sigterm(client: ClientProcess) -> None:
    """The client closes and exits with 0 on SIGTERM."""
    await client.says.startup(client.patience_s)
    client.says.terminate()
    await client.must_leave("SIGTERM")


async def end_of_input(client: ClientProcess) -> None:
    """The client closes and exits with 0 at the end of its stdin."""
    await client.configure(client.config())
    client.says.hang_up()
    await client.must_leave("the end of stdin")


async def heartbeat(client: ClientProcess) -> None:
    """The client sends stats each second, also while nothing happens."""
    await client.says.startup(client.patience_s)

    def beats_twice() -> bool:
        return sum(isinstance(event, Stats) for event in client.heard) >= 2

    if not await client.says.until(beats_twice, client.patience_s):
        raise ContractViolation(
            "stats-missing",
            "expected stats each second, got not two in {patience_s:g} s",
            patience_s=client.patience_s,
        )


async def configuration(client: ClientProcess) -> None:
    """The client accounts for every setting: applied under which name, or not set and why."""
    await client.configure(client.config())


async def bad_setting(client: ClientProcess) -> None:
    """The client does not accept a value that makes no sense."""
    config = client.config()
    name = next((name for name in config if name in client.workload.settings), None)
    if name is None:
        return
    try:
        answer = await client.configure(config | {name: "banana"})
    except ConfigRefused:
        return
    if name not in answer.not_set:
        raise ContractViolation(
            "invalid-setting-applied",
            "expected {setting}=banana to be refused or not set, it was applied",
            setting=name,
        )


async def dead_address(client: ClientProcess) -> None:
    """The client reports no success without a broker, and still answers a flush."""
    await client.configure(client.config())
    await client.load()
    element, ops = client.workload.element, {command.op for command in client.workload.commands}
    answer = await client.says.flush(2 * LIMIT_MS)
    if answer is None:
        raise ContractViolation(
            "flush-not-answered", "expected an answer to flush within its timeout, got nothing"
        )
    if sum(event.count for event in client.heard if isinstance(event, OpInvoke)) != ELEMENTS:
        raise ContractViolation(
            "not-all-invoked",
            "expected op_invoke for {count} {element}s before the answer to flush",
            count=ELEMENTS,
            element=element,
        )
    results = [event for event in client.heard if isinstance(event, OpComplete) and event.op in ops]
    if any(outcome == Outcome.OK for event in results for outcome in event.outcome):
        raise ContractViolation(
            "acknowledged-without-broker",
            "a {element} is {done} although no broker was there",
            element=element,
            done=client.workload.done,
        )
    if answer.outcome == [Outcome.OK] and client.says.outstanding:
        raise ContractViolation(
            "flush-ok-too-early",
            "flush is ok although {outstanding} have no result",
            outstanding=some(client.says.outstanding, element),
        )
    await client.says.close(CLOSE_TIMEOUT_MS)


async def close_in_time(client: ClientProcess) -> None:
    """The client closes within its timeout, whatever it still has to send."""
    await client.configure(client.config(limit_ms=300_000))
    await client.load()
    if await client.says.close(CLOSE_TIMEOUT_MS) is None:
        raise ContractViolation(
            "close-not-answered", "expected an answer to close within its timeout, got nothing"
        )


Case = Callable[[ClientProcess], Awaitable[None]]

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
