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
from harness.model.contract import AnyEvent, Fatal, OpComplete, OpInvoke, Setting, Stats
from harness.model.verdicts import Outcome
from harness.text.sentences import Coded
from harness.workloads.produce.commands import Produce

UNKNOWN_COMMAND = "recite_a_poem"
RECORDS = 3
DELIVERY_TIMEOUT_MS = 1_500
CLOSE_TIMEOUT_MS = 1_000


class Unmannerly(Coded):
    """The client did something other than the case requires. The message says what."""


@dataclass(frozen=True)
class Guest:
    """One client process, its events, how late it may be, and an address that refuses it."""

    says: Conversation
    heard: list[AnyEvent]
    patience_s: float
    nowhere: str

    def config(self, delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS) -> dict[str, Setting]:
        """Return a full, legal configuration."""
        return {
            "acks": "all",
            "bootstrap.servers": self.nowhere,
            "client.id": "contract",
            "delivery.timeout.ms": delivery_timeout_ms,
            "enable.idempotence": False,
            "linger.ms": 5,
            "max.block.ms": 500,
            "reconnect.backoff.max.ms": 1_000,
            "request.timeout.ms": 1_000,
        }

    async def configured(self, **options: int) -> None:
        """Start the client and configure it."""
        await self.says.startup(self.patience_s)
        await self.says.configure("contract", "p1", self.config(**options), timeout_s=self.patience_s)

    async def send(self) -> None:
        """Make the client send a few records."""
        numbers = range(RECORDS)
        values = [f"value {n}" for n in numbers]
        await self.says.load(Produce(0, "contract", 0, [f"k{n}" for n in numbers], values))

    async def must_leave(self, why: str) -> None:
        """Check that the client sends ``shutdown_complete`` and exits with 0."""
        await self.says.ended(self.patience_s)
        if self.says.error is not None:
            raise Unmannerly("ended-after", "after {why}: {error}", why=why, error=self.says.error)


async def startup(guest: Guest) -> None:
    """The client introduces itself: its name, the version that really runs, and its language."""
    event = await guest.says.startup(guest.patience_s)
    for name in ("client", "client_version", "language"):
        if not getattr(event, name):
            raise Unmannerly(
                "startup-text-missing", "expected a text in {name} of startup_complete, got none", name=name
            )


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
        raise Unmannerly(
            "garbage-accepted",
            "expected fatal and a non-zero exit after a garbage line, got exit {code}",
            code=code,
        )


async def sigterm(guest: Guest) -> None:
    """The client closes and exits with 0 on SIGTERM."""
    await guest.says.startup(guest.patience_s)
    guest.says.terminate()
    await guest.must_leave("SIGTERM")


async def end_of_input(guest: Guest) -> None:
    """The client closes and exits with 0 at the end of its stdin."""
    await guest.configured()
    guest.says.hang_up()
    await guest.must_leave("the end of stdin")


async def heartbeat(guest: Guest) -> None:
    """The client sends stats each second, also while nothing happens."""
    await guest.says.startup(guest.patience_s)

    def beats_twice() -> bool:
        return sum(isinstance(event, Stats) for event in guest.heard) >= 2

    if not await guest.says.until(beats_twice, guest.patience_s):
        raise Unmannerly(
            "stats-missing",
            "expected stats each second, got not two in {patience_s:g} s",
            patience_s=guest.patience_s,
        )


async def configuration(guest: Guest) -> None:
    """The client accounts for every setting: applied under which name, or not set and why."""
    await guest.configured()


async def bad_setting(guest: Guest) -> None:
    """The client does not accept a value that makes no sense."""
    await guest.says.startup(guest.patience_s)
    config = guest.config() | {"acks": "banana"}
    try:
        answer = await guest.says.configure("contract", "p1", config, timeout_s=guest.patience_s)
    except ConfigRefused:
        return
    if "acks" not in answer.not_set:
        raise Unmannerly(
            "invalid-setting-applied", "expected acks=banana to be refused or not set, it was applied"
        )


async def dead_address(guest: Guest) -> None:
    """The client acknowledges no record without a broker, and still answers a flush."""
    await guest.configured()
    await guest.send()
    answer = await guest.says.flush(2 * DELIVERY_TIMEOUT_MS)
    if answer is None:
        raise Unmannerly("flush-not-answered", "expected an answer to flush within its timeout, got nothing")
    if sum(event.count for event in guest.heard if isinstance(event, OpInvoke)) != RECORDS:
        raise Unmannerly(
            "not-all-invoked",
            "expected op_invoke for {records} records before the answer to flush",
            records=RECORDS,
        )
    results = [event for event in guest.heard if isinstance(event, OpComplete) and event.op == "send"]
    if any(outcome == Outcome.OK for event in results for outcome in event.outcome):
        raise Unmannerly(
            "acknowledged-without-broker", "a record is acknowledged although no broker was there"
        )
    if answer.outcome == [Outcome.OK] and guest.says.outstanding:
        raise Unmannerly(
            "flush-ok-too-early",
            "flush is ok although {outstanding} records have no result",
            outstanding=guest.says.outstanding,
        )
    await guest.says.close(CLOSE_TIMEOUT_MS)


async def close_in_time(guest: Guest) -> None:
    """The client closes within its timeout, whatever it still has to send."""
    await guest.configured(delivery_timeout_ms=300_000)
    await guest.send()
    if await guest.says.close(CLOSE_TIMEOUT_MS) is None:
        raise Unmannerly("close-not-answered", "expected an answer to close within its timeout, got nothing")


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
