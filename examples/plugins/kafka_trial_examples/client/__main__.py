"""The program: commands are lines on stdin, events are lines on stdout, brokers are reached over sockets."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

import msgspec

from kafka_trial.api import Address, AnyEvent, Close, Configure, Flush
from kafka_trial_examples.client.building import built
from kafka_trial_examples.client.kind import VERSION
from kafka_trial_examples.client.lookup_client import LookupClient
from kafka_trial_examples.client.sockets import SocketLink
from kafka_trial_examples.client.voice import Voice
from kafka_trial_examples.lookup.commands import Lookup

STDIN = 0
#: The close without a command: at the end of stdin, and on SIGTERM.
UNASKED = Close(-1, 5_000)
KNOWN = {"configure": Configure, "lookup": Lookup, "flush": Flush, "close": Close}


class Program:
    """One life of the client, under a name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._voice = Voice(time.monotonic_ns, time.time_ns, _tell)
        self._client: LookupClient | None = None
        self._link: SocketLink | None = None
        self._line = b""
        self._is_told_to_end = False

    def run(self) -> None:
        """Obey until closed."""
        signal.signal(signal.SIGTERM, self._end)
        self._voice.started(self._name, VERSION)
        due_ns: int | None = time.monotonic_ns()
        while due_ns is not None:
            if self._waited(due_ns):
                for line in self._lines():
                    self._obey(line)
            if self._is_told_to_end:
                self._do(UNASKED)
            due_ns = self._client.step(time.monotonic_ns()) if self._client else self._voice.beat()

    def _end(self, _: int, __: FrameType | None) -> None:
        """Note a signal. The heartbeat ends the wait, so it is seen within a second."""
        self._is_told_to_end = True

    def _dial(self, address: Address) -> SocketLink:
        self._link = SocketLink(address)
        return self._link

    def _waited(self, due_ns: int) -> bool:
        """Wait until something is due or happens. Return whether stdin can be read."""
        timeout_s = max(0.0, (due_ns - time.monotonic_ns()) / 1e9)
        if self._link is not None and self._link.is_open:
            return self._link.wait(STDIN, timeout_s)
        return bool(select.select([STDIN], [], [], timeout_s)[0])

    def _lines(self) -> Iterator[bytes]:
        data = os.read(STDIN, 65_536)
        self._is_told_to_end |= not data
        *whole, self._line = (self._line + data).split(b"\n")
        yield from whole

    def _obey(self, line: bytes) -> None:
        try:
            fields = msgspec.json.decode(line, type=dict)
            kind = KNOWN.get(fields["cmd"])
            command = msgspec.json.decode(line, type=kind) if kind else None
        except (msgspec.DecodeError, KeyError) as error:
            self._give_up(f"not a command: {error}")
        if command is None:
            self._voice.unsupported(fields)
        else:
            self._do(command)

    def _do(self, command: Configure | Lookup | Flush | Close) -> None:
        if isinstance(command, Configure):
            self._configure(command)
        elif self._client is None and isinstance(command, Close):
            self._voice.ended("close", command.id, self._voice.invoked("close", command.id))
            self._voice.shut_down()
            sys.exit(0)
        elif self._client is None:
            self._give_up(f"{type(command).__name__} before configure")
        elif isinstance(command, Flush):
            self._client.flush(command)
        elif isinstance(command, Close):
            self._client.close(command)
        else:
            self._client.load(command)

    def _configure(self, command: Configure) -> None:
        try:
            self._client = built(self._name, command, self._voice, self._dial)
        except ValueError as error:
            self._voice.failed("ConfigRefused", str(error))
            sys.exit(1)

    def _give_up(self, message: str) -> NoReturn:
        self._voice.failed("ProtocolError", message)
        sys.exit(1)


def _tell(event: AnyEvent) -> None:
    os.write(1, msgspec.json.encode(event) + b"\n")


if __name__ == "__main__":
    Program(sys.argv[1]).run()
