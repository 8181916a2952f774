"""The lifecycle of one client process: startup, configure, load, close.

One thread reads commands, and the main thread executes them (only it calls the adapter). A third thread writes results
and the heartbeat, so that a client stuck in a call still sends it. If the adapter needs it, a fourth thread calls its
``poll``. A consumer's application (``member``) takes its turns on the main thread between two commands. A defect of the
program itself ends the process with a ``fatal`` event: exit code 2 for a line that is not a command, else 1.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from .adapter import ConfigRefused
from .closing import Closing
from .commands import COMMANDS, lines, parse
from .member import Member
from .output import Output, Result, Results, complete, invoke
from .transactor import Transactor

if TYPE_CHECKING:
    from collections.abc import Callable

    from .adapter import Adapter, Role
    from .consumer import ConsumerAdapter

CONTRACT_VERSION = 2
RESULTS_INTERVAL_S = 0.02
STATS_INTERVAL_S = 1.0
POLL_S = 0.1
FLUSH_SLICE_S = 0.2

NOT_DONE = "the client is not done"
NO_CONSUMER = "this program has no consumer"

#: A close without a command: end of stdin, SIGTERM, SIGINT.
UNASKED_CLOSE: dict[str, Any] = {"cmd": "close", "id": -1, "timeout_ms": 5_000}


class Program:
    """The lifecycle of one client process, which is a producer or, if ``consumer`` can make one, a consumer."""

    def __init__(
        self, adapter: Adapter, output: Output, consumer: Callable[[], ConsumerAdapter] | None = None
    ) -> None:
        self._adapter, self._output, self._consumer = adapter, output, consumer
        self._member: Member | None = None
        self._closing = Closing(output)
        self._results = Results(output)
        self._transactor = Transactor(adapter, output, lambda: self._hurried)
        self._commands: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._sent = 0
        self._configured = False
        self._hurried = False  # after a signal: queued commands are not started
        self._polling, self._beating = _Repeated(self._poll), _Repeated(self._beat)
        self._next_stats = time.monotonic() + STATS_INTERVAL_S

    def run(self) -> int:
        """Run until closed. Return the exit code. Must be called on the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hurry)
        about = ("client", "client_version", "library_version", "language", "features")
        named = {name: getattr(self._adapter, name) for name in about}
        self._output.event("startup_complete", {**named, "contract_version": CONTRACT_VERSION})
        self._guarded(self._start_threads)
        self._guarded(self._obey)
        return 0

    def _start_threads(self) -> None:
        threading.Thread(target=self._guarded, args=(self._read,), daemon=True).start()
        self._beating.start(self._guarded)

    def _obey(self) -> None:
        handlers = {"configure": self._configure, "produce": self._produce, "flush": self._flush}
        if "transactions" in self._adapter.features:
            handlers["transact"] = self._transact
        while True:
            command = self._next_command()
            name = command["cmd"]
            if name == "close":
                self._close(command)
                return
            if self._hurried and name in COMMANDS:
                continue
            if self._member is not None and name != "configure":
                self._member.obey(command)
            elif name in handlers:
                handlers[name](command)
            elif self._consumer is not None and name in COMMANDS:
                self._must_be_configured(name)
            else:
                self._output.event("unsupported", {"cmd": name, "id": command.get("id", -1)})

    def _next_command(self) -> dict[str, Any]:
        """Return the next command. Until there is one, a consumer takes its turns."""
        while self._member is not None and self._member.polls:
            try:
                return self._commands.get_nowait()
            except Empty:
                self._member.turn()
        return self._commands.get()

    def _configure(self, command: dict[str, Any]) -> None:
        if self._configured:
            raise RuntimeError("configured twice")
        member = self._made_member() if command.get("role") == "consumer" else None
        adapter: Role = self._adapter if member is None else member.adapter
        adapter.own = own = command.get("client_config", {})
        adapter.own_not_set = {}
        applied, not_set = adapter.configure(command["config"])
        self._configured = True
        told = {"id": command["id"], "applied": applied, "not_set": not_set}
        if own:
            told["client_not_set"] = adapter.own_not_set
        self._output.event("configured", told)
        self._member = member
        if member is None and self._adapter.polls:
            self._polling.start(self._guarded)

    def _made_member(self) -> Member:
        if self._consumer is None:
            raise ConfigRefused(NO_CONSUMER)
        return Member(self._consumer(), self._adapter.features, self._output, self._closing.requested)

    def _produce(self, command: dict[str, Any]) -> None:
        self._must_be_configured("produce")
        id, topic, first = command["id"], command["topic"], command["first"]
        keys, values, partitions = command["keys"], command["values"], command.get("partitions")
        self._output.event("op_invoke", {"op": "send", "id": id, "first": first, "count": len(values)})
        for index, value in enumerate(values):
            self._sent += 1
            partition = None if partitions is None else partitions[index]
            self._adapter.send(topic, keys[index], value, partition, Result(self._results, id, first + index))

    def _transact(self, command: dict[str, Any]) -> None:
        self._must_be_configured("transact")
        self._sent += len(command["values"])
        for row in self._transactor.transact(command):
            self._results.add(command["id"], row, "transact")

    def _flush(self, command: dict[str, Any]) -> None:
        self._must_be_configured("flush")
        invoke_ns = invoke(self._output, "flush", command["id"])
        deadline = time.monotonic() + command["timeout_ms"] / 1000
        done = False
        while not done and not self._hurried and time.monotonic() < deadline:
            done = self._adapter.flush(max(0.0, min(FLUSH_SLICE_S, deadline - time.monotonic())))
        self._complete("flush", command["id"], invoke_ns, done)

    def _close(self, command: dict[str, Any]) -> None:
        timeout_s = command["timeout_ms"] / 1000
        if self._member is not None:
            self._closing.within(command["id"], timeout_s)
            self._closing.begin()
            error = self._member.close(timeout_s)
            self._beating.stop()
            self._closing.end(error)
            return
        invoke_ns = invoke(self._output, "close", command["id"])
        self._polling.stop()
        done = not self._configured or self._adapter.close(timeout_s)
        self._complete("close", command["id"], invoke_ns, done)
        self._beating.stop()
        self._output.event("shutdown_complete", {}, last=True)

    def _complete(self, op: str, id: int, invoke_ns: int, done: bool) -> None:
        self._results.write()
        complete(self._output, op, id, invoke_ns, None if done else NOT_DONE)

    def _must_be_configured(self, command: str) -> None:
        if not self._configured:
            raise RuntimeError(f"{command} before configure")

    def _poll(self) -> None:
        self._adapter.poll(POLL_S)

    def _beat(self) -> None:
        time.sleep(RESULTS_INTERVAL_S)
        self._results.write()
        if self._hurried and self._member is not None:
            self._closing.within(UNASKED_CLOSE["id"], UNASKED_CLOSE["timeout_ms"] / 1000)
        if time.monotonic() >= self._next_stats:
            self._next_stats = time.monotonic() + STATS_INTERVAL_S
            member = self._member
            sent, completed = (
                (self._sent, self._results.count) if member is None else (member.taken, member.finished)
            )
            self._output.event("stats", {"sent": sent, "completed": completed})

    def _read(self) -> None:
        for line in lines(0):
            command = parse(line)
            if command is None:
                self._fatal("BadCommand", "not a command: " + line[:200].decode(errors="replace"), 2)
                return
            if command["cmd"] == "close":
                self._request_close(command)
            elif command["cmd"] == "wakeup" and self._member is not None:
                self._member.obey(command)
            else:
                self._commands.put(command)
        self._request_close(UNASKED_CLOSE)

    def _hurry(self, number: int, frame: object) -> None:
        # Only what a signal handler can do whatever it has interrupted. The thread of the heartbeat does the rest.
        self._hurried = True
        self._commands.put(UNASKED_CLOSE)

    def _request_close(self, command: dict[str, Any]) -> None:
        if self._member is not None:
            self._closing.within(command["id"], command["timeout_ms"] / 1000)
        self._commands.put(command)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            traceback.print_exc()
            self._fatal(type(error).__name__, str(error), 1)

    def _fatal(self, error: str, message: str, code: int) -> None:
        self._results.write()
        self._output.event("fatal", {"error": error, "message": message}, last=True)
        sys.stderr.flush()
        os._exit(code)  # the client's threads may not be stoppable


class _Repeated:
    """A thread that repeats one function until it is stopped."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self, guarded: Callable[[Callable[[], None]], None]) -> None:
        self._thread = threading.Thread(target=guarded, args=(self._loop,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current call, and wait for it."""
        self._stopped = True
        if self._thread is not None:
            self._thread.join()

    def _loop(self) -> None:
        while not self._stopped:
            self._work()


def run(make: Callable[[], Adapter], consumer: Callable[[], ConsumerAdapter] | None = None) -> None:
    """Run the program of one client and exit.

    ``make`` builds the adapter after stdout has been redirected, and ``consumer`` that of the client's consumer, if it
    is configured as one.
    """
    output = Output()
    sys.exit(Program(make(), output, consumer).run())
