"""The capture of one trial, from the harness's side: start the process, wait for it, end it, and read its results.

It never fails a trial. If the capture fails, its record gives the reason.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from harness.files import make_folder, remove_partials, remove_tree, zstd
from harness.files.row_files import read_rows
from harness.model.addresses import LaneAddress
from harness.model.errors import EnvironmentProblem
from harness.model.rows import CaptureRecord
from harness.model.run_files import CAPTURE, TCP
from harness.model.tcp_facts import TcpFact
from harness.system.processes import PIPE, Child, spawn, stop

START_TIMEOUT_S = 20.0
#: The limit includes a second pass over the captured data, for the facts.
END_TIMEOUT_S = 60.0


class Observer:
    """The capture of one trial. ``record`` is valid after :meth:`end`."""

    def __init__(
        self,
        folder: Path,
        addresses: Iterable[LaneAddress],
        start_timeout_s: float = START_TIMEOUT_S,
        end_timeout_s: float = END_TIMEOUT_S,
    ) -> None:
        self._start_timeout_s, self._end_timeout_s = start_timeout_s, end_timeout_s
        self._folder = folder
        self._ports = [f"{address.advertised[1]}:{address.broker}" for address in addresses]
        self._child: Child | None = None
        self._said: list[str] = []
        self.record = CaptureRecord(unavailable_reason="it did not end")

    async def start(self) -> None:
        """Start the capture. Returns once no packet can be missed, or if nothing can be captured."""
        make_folder(self._folder)
        self._unlink()  # files of the same trial in a run that was killed
        argv: list[str | Path] = [sys.executable, "-P", "-m", str(__package__), self._folder, *self._ports]
        try:
            self._child = await spawn(argv, stdin=PIPE, stdout=PIPE, stderr=subprocess.STDOUT)
            async with asyncio.timeout(self._start_timeout_s):
                await self._line()
        except EnvironmentProblem as error:
            self.record = CaptureRecord(unavailable_reason=str(error))
        except TimeoutError:
            self.record = CaptureRecord(
                unavailable_reason=f"it did not start within {self._start_timeout_s:g} s"
            )
            await self._stop()

    async def end(self) -> None:
        """End the capture, which writes its files. The process has ended afterwards."""
        if self._child is None:
            return
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            async with asyncio.timeout(self._end_timeout_s):
                while await self._line():
                    pass
            self.record = _record(self._said)
        except TimeoutError:
            self.record = CaptureRecord(unavailable_reason=f"it did not end within {self._end_timeout_s:g} s")
        finally:
            await self._stop()

    def told(self) -> tuple[TcpFact, ...]:
        """Return the facts of the capture once it has ended, or nothing if it failed."""
        return (
            ()
            if self.record.unavailable_reason is not None
            else read_rows(self._folder / TCP, TcpFact, self._folder.parent)
        )

    async def _stop(self) -> None:
        """Stop the process, and remove its files unless the capture is complete."""
        child, self._child = self._child, None
        try:
            if child is not None:
                await stop(child, grace_s=0 if self.record.unavailable_reason else 1.0)
        finally:
            if self.record.unavailable_reason is not None:
                self._unlink()

    def _unlink(self) -> None:
        with suppress(OSError):
            remove_partials(self._folder)
            for path in (self._folder / CAPTURE, zstd.at_rest(self._folder / TCP)):
                remove_tree(path, self._folder)

    async def _line(self) -> bool:
        assert self._child is not None
        assert self._child.stdout is not None
        line = await self._child.stdout.readline()
        self._said += [line.decode(errors="replace").strip()] if line else []
        return bool(line)


def _record(said: list[str]) -> CaptureRecord:
    with suppress(msgspec.MsgspecError, IndexError):
        return msgspec.json.decode(said[-1], type=CaptureRecord)
    return CaptureRecord(unavailable_reason=f"it failed: {said[-1] if said else 'it printed nothing'}")


@asynccontextmanager
async def observed(
    folder: Path,
    addresses: Iterable[LaneAddress],
    start_timeout_s: float = START_TIMEOUT_S,
    end_timeout_s: float = END_TIMEOUT_S,
) -> AsyncIterator[Observer]:
    """Capture during the block."""
    observer = Observer(folder, addresses, start_timeout_s, end_timeout_s)
    try:
        await observer.start()
        yield observer
    finally:
        await observer.end()
