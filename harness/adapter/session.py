"""The harness's side of a session with one client process: commands out, events in, on asyncio.

Every valid event is passed to ``record``, in order, before any waiting caller continues. The session ends at the first
line that breaks a rule, or if the process ends before ``shutdown_complete``. All current and later calls then raise
:class:`ClientBroken` with the client, its output and the expectation. If a client library ended its own process, they
raise :class:`ClientCrashed`.

Slowness of a client is evidence, not an error: a flush or close without a response returns None. For slow machines,
deadlines include ``GRACE_S`` in addition to the time that the client was given.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from asyncio import Future
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from harness.adapter import breaches, environment, kept_process
from harness.adapter.discreet import discreet, rewrite
from harness.adapter.protocol_rules import ProtocolRules, RuleBroken, Unknown
from harness.limits.meter import EVENT_BYTES, FILE_BYTES, LINE_BYTES, LINES, LOG_BYTES, Meter
from harness.model.contract import (
    CRASHED,
    REFUSED,
    AnyEvent,
    Close,
    Command,
    Configure,
    Configured,
    Fatal,
    Flush,
    LoadCommand,
    OpComplete,
    Setting,
    StartupComplete,
    UnknownCommand,
)
from harness.model.errors import ClientBroken, ClientCrashed, KafkaTrialError
from harness.plugins.client import Launch
from harness.system import processes
from harness.text import redaction

GRACE_S = 10.0
USUAL_RECORDS = 10_000  # the default for the number of records
STARTUP_TIMEOUT_S = CONFIGURE_TIMEOUT_S = 60.0
#: Other tasks run after this many lines. Megabytes may wait in the stream, and reading them never pauses by itself.
LINES_AT_A_TIME = 20

#: The client counts as wedged after this time without a line, since ``stats`` are due every second. This concerns its
#: process, not just its sends.
WEDGED_S = 10.0
LAST_WORDS_S = 1.0
#: How much of a log is kept beyond its limit, to show that it exceeded it.
SPARE_BYTES = 4_096


class ConfigRefused(KafkaTrialError):
    """The client reports that it cannot be built with these settings."""


class Conversation:
    """One client process, from start to end: an async context manager that ends the process at exit.

    ``record`` is called with every event, and ``log`` receives the client's stderr. ``settled`` is set while all
    requested records have a result. ``grace_s`` is how late a response may be, and ``meter`` enforces the client's
    limits. ``name`` is the client's name in errors; without it, the name that the client gives itself.
    """

    #: How long to wait for what a process wrote before its end.
    _last_words_s = LAST_WORDS_S

    def __init__(
        self,
        launch: Launch,
        log: Path,
        record: Callable[[AnyEvent], None],
        *,
        grace_s: float = GRACE_S,
        meter: Meter | None = None,
        name: str | None = None,
    ) -> None:
        self._launch, self._log, self._record, self._grace_s = launch, log, record, grace_s
        self._name = name or " ".join(Path(word).name for word in redaction.argv(launch.argv))
        self._meter = meter or Meter(self._name, USUAL_RECORDS)
        self._answers: dict[int, Future[AnyEvent]] = {}
        self._given_name, self._ids, self._lines = name, itertools.count(1), 0
        self._configuring: int | None = None
        self._error: Exception | None = None
        self._news = asyncio.Event()
        self.settled = asyncio.Event()
        self.settled.set()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._startup: Future[AnyEvent] = loop.create_future()
        self._over: Future[None] = loop.create_future()
        self._rules = ProtocolRules(began_ns=time.monotonic_ns())
        self._heard_at = loop.time()
        self._child = await kept_process.start(
            self._launch.argv,
            {**environment.allowed(), **self._launch.env},
            self._log,
            folder=self._launch.folder,
            file_bytes=self._meter.most(FILE_BYTES),
            line_bytes=self._meter.most(LINE_BYTES),
        )
        self._reader = loop.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.kill()
        await asyncio.to_thread(rewrite, self._log, LOG_BYTES.base + SPARE_BYTES)

    # The methods of a trial, in the order of use.

    async def startup(self, timeout_s: float = STARTUP_TIMEOUT_S) -> StartupComplete:
        """Wait for ``startup_complete``."""
        event = await self._answered(self._startup, timeout_s)
        if isinstance(event, StartupComplete):
            return event
        raise breaches.unanswered(self._name, "startup_complete", timeout_s, event)

    async def configure(
        self,
        run_id: str,
        instance: str,
        config: Mapping[str, Setting],
        *,
        role: str = "producer",
        own: Mapping[str, str] = MappingProxyType({}),
        timeout_s: float = CONFIGURE_TIMEOUT_S,
    ) -> Configured:
        """Make the client build itself from settings with Java names, and ``own`` under its own names.

        Raise ConfigRefused if it reports an error.
        """
        self._configuring = next(self._ids)
        command = Configure(self._configuring, run_id, instance, role, dict(config), dict(own))
        event = await self._ask(command, timeout_s)
        self._configuring = None
        if isinstance(event, Configured):
            return event
        if isinstance(event, Fatal) and event.error == REFUSED:
            raise ConfigRefused(
                "config-refused",
                "{name} refuses its configuration: {message}",
                name=self._name,
                message=event.message,
            )
        raise breaches.unanswered(self._name, "configured", timeout_s, event)

    async def load(self, command: LoadCommand) -> None:
        """Send a command of the load. ``command.id`` is set here; waits only while the client reads no commands."""
        command = replace(command, id=next(self._ids))
        self._rules.asked(command)
        self._settle()
        await self._write(msgspec.json.encode(command))

    async def flush(self, timeout_ms: int) -> OpComplete | None:
        """Wait until all elements have results. Return None if the client does not respond in time."""
        return await self._op(Flush(next(self._ids), timeout_ms), timeout_ms / 1000 + self._grace_s)

    async def close(self, timeout_ms: int) -> OpComplete | None:
        """Close the client and wait until its process ends. Return None, and kill it, if it does not respond."""
        timeout_s = timeout_ms / 1000 + self._grace_s
        event = await self._op(Close(next(self._ids), timeout_ms), timeout_s)
        if event is not None:
            await self.ended(timeout_s)
            if self._error is not None:
                raise self._error
        await self.kill()
        return event

    # The state that a trial may observe meanwhile.

    @property
    def outstanding(self) -> int:
        """The number of requested elements without a result."""
        return self._rules.outstanding

    @property
    def error(self) -> Exception | None:
        """The reason why the session ended early, if it did."""
        return self._error

    async def until(self, seen: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until ``seen()`` is true after an event. Return False after ``timeout_s``."""
        try:
            async with asyncio.timeout(timeout_s):
                while not seen():
                    self._raise_if_over()
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False
        return True

    @property
    def notes(self) -> list[str]:
        """Remarks on the client's events that the contract does not define."""
        return [f"event {name!r} is not in the contract" for name in self._rules.unknown]

    @property
    def left_out(self) -> int:
        """The number of numbered events that the contract does not define."""
        return self._rules.left_out

    @property
    def wedged(self) -> bool:
        """True if the client process is alive but has been silent for ``WEDGED_S``."""
        return not self._over.done() and asyncio.get_running_loop().time() - self._heard_at > WEDGED_S

    # Methods for the contract tests of a client.

    async def ask_unknown(self, name: str, timeout_s: float) -> UnknownCommand:
        """Send a command that the contract does not define. The response must be ``unsupported``."""
        event = await self._ask(Unknown(name, next(self._ids)), timeout_s)
        if isinstance(event, UnknownCommand):
            return event
        raise breaches.unanswered(self._name, f"unsupported for command {name!r}", timeout_s, event)

    async def say(self, line: bytes) -> None:
        """Write a line unchanged."""
        await self._write(line)

    def hang_up(self) -> None:
        """Close the client's stdin, which means ``close``."""
        assert self._child.stdin is not None
        self._child.stdin.close()

    def terminate(self) -> None:
        """Send SIGTERM, which means ``close``."""
        self._child.terminate()

    async def ended(self, timeout_s: float) -> int:
        """Wait until the process has ended by itself, and return its exit code. ClientBroken: not in ``timeout_s``."""
        try:
            async with asyncio.timeout(timeout_s):
                code = await self._child.wait()
        except TimeoutError:
            raise self._broken(
                "process-still-running",
                "expected its process to end within {timeout_s:g} s, but it is still running",
                timeout_s=timeout_s,
            ) from None
        await asyncio.wait({self._reader}, timeout=LAST_WORDS_S)
        return code

    async def kill(self) -> None:
        """Kill the process and all of its descendants (SIGKILL). May be called repeatedly."""
        await processes.stop(self._child, grace_s=0)
        await asyncio.wait({self._reader}, timeout=self._last_words_s)
        self._reader.cancel()
        self._child.close_pipes()
        self._end(None)

    # Commands out.

    async def _op(self, command: Flush | Close, timeout_s: float) -> OpComplete | None:
        event = await self._ask(command, timeout_s)
        if event is None or isinstance(event, OpComplete):
            return event
        raise self._broken("op-complete-missing", "expected op_complete, {got}", got=breaches.got(event))

    async def _ask(self, command: Command | Unknown, timeout_s: float) -> AnyEvent | None:
        """Send a command and return its response, or None if there is none in time."""
        self._raise_if_over()
        self._rules.asked(command)
        answer = self._answers[command.id] = asyncio.get_running_loop().create_future()
        await self._write(msgspec.json.encode(command))
        return await self._answered(answer, timeout_s)

    async def _answered(self, answer: Future[AnyEvent], timeout_s: float) -> AnyEvent | None:
        either: set[Future[Any]] = {answer, self._over}
        await asyncio.wait(either, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        self._raise_if_over()
        return None

    async def _write(self, line: bytes) -> None:
        self._raise_if_over()
        assert self._child.stdin is not None
        self._child.stdin.write(line + b"\n")
        drained = asyncio.ensure_future(self._child.stdin.drain())
        either: set[Future[None]] = {drained, self._over}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            unfinished = drained.cancel()
        if unfinished:
            self._raise_if_over()
        elif isinstance(drained.exception(), ConnectionError):
            await asyncio.wait({self._over}, timeout=self._grace_s)  # the reader finds the reason
            self._raise_if_over()
            raise self._broken("stdin-closed", "expected it to read its stdin, but it has closed it")

    # Events in.

    async def _read(self) -> None:
        line = b""
        try:
            while (line := await self._line()).endswith(b"\n"):  # else it died within a line
                self._lines += 1
                if self._lines % LINES_AT_A_TIME == 0:
                    await asyncio.sleep(0)
                self._heard_at = asyncio.get_running_loop().time()
                self._meter.spend(LINES)
                self._meter.spend(EVENT_BYTES, len(line))
                event = self._rules.said(line, time.monotonic_ns())
                if event is not None:
                    self._hear(event)
            code = await self._child.wait()
            self._end(breaches.farewell(self._name, code, self._rules.life, self._log))
        except ClientBroken as error:
            self._end(error)
        except RuleBroken as rule:
            self._end(breaches.of_rule(self._name, rule, self._lines, line))
        except Exception as error:  # an error of the harness: callers must not wait forever
            self._end(error)

    async def _line(self) -> bytes:
        assert self._child.stdout is not None
        try:
            return await self._child.stdout.readline()
        except ValueError:  # raised by the stream for a line beyond its limit
            most = self._meter.most(LINE_BYTES)
            raise self._broken(
                "line-too-long", "expected lines of at most {most:,} bytes, got a longer one", most=most
            ) from None

    def _hear(self, event: AnyEvent) -> None:
        event = discreet(event)
        self._record(event)
        self._settle()
        self._news.set()
        match event:
            case StartupComplete():
                self._name = self._given_name or f"{event.client}@{event.client_version}"
                self._startup.set_result(event)
            case Configured() | UnknownCommand() | OpComplete():
                self._resolve(event.id, event)
            case Fatal(error=error) if error == CRASHED:
                self._end(
                    ClientCrashed(
                        "client-crashed",
                        "client {name} ended its own process: {message}",
                        name=self._name,
                        message=event.message,
                    )
                )
            case Fatal() if self._configuring is not None:
                self._resolve(self._configuring, event)
            case Fatal():
                self._end(
                    self._broken(
                        "client-gave-up",
                        "it gave up: {error}: {message}",
                        error=event.error,
                        message=event.message,
                    )
                )

    def _resolve(self, id: int, event: AnyEvent) -> None:
        answer = self._answers.pop(id, None)
        if answer is not None and not answer.done():
            answer.set_result(event)

    def _settle(self) -> None:
        if self._rules.outstanding:
            self.settled.clear()
        else:
            self.settled.set()

    def _end(self, error: Exception | None) -> None:
        if not self._over.done():
            self._error = error
            self._over.set_result(None)
            self._news.set()

    def _raise_if_over(self) -> None:
        if self._over.done():
            raise self._error or self._broken(
                "command-after-end", "another command was requested after its end"
            )

    def _broken(self, code: str, template: str, /, **params: object) -> ClientBroken:
        return breaches.broken(self._name, code, template, **params)
