"""The observers of a trial: the witness, the pulse, the wall clock, the brokers, and the room on the disk.

A trial whose observers fail ends at once. Nothing that a client does from then on counts against it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import TypeVar

from harness.files import lack_of_room
from harness.files.stored import stored
from harness.limits.meter import DEPTH, DISK_BYTES, FILES, LOG_BYTES, Meter, OverLimit
from harness.model.errors import BrokerDied, KafkaTrialError
from harness.plugins.cluster import Cluster
from harness.running.cast import logs_in
from harness.system.pulse import Pulse
from harness.witness import WitnessLane

T = TypeVar("T")

WATCH_INTERVAL_S = 0.25
#: A disk that takes a gigabyte in this time is full soon, with or without a limit (:meth:`Observation.assert_whole`).
MEASURE_INTERVAL_S = 0.5


class ClockStepped(KafkaTrialError):
    """The machine's clock was set during the trial. How clients and brokers react to that is not their fault."""


@dataclass(frozen=True)
class Observation:
    """The observers of one trial, whose files are in ``folder``. Its client stores files in ``own``."""

    folder: Path
    own: Path
    cluster: Cluster
    witness: WitnessLane
    pulse: Pulse
    meter: Meter

    async def during(self, work: Awaitable[T]) -> T:
        """Return ``work``'s result, or raise the trouble as soon as there is any and cancel ``work``."""
        disk = asyncio.ensure_future(self._measure_disk())
        try:
            return await _unless(self._trouble, work)
        finally:
            disk.cancel()
            await asyncio.wait({disk})
            if not disk.cancelled():
                disk.result()

    async def _measure_disk(self) -> None:
        """Measure the client's folder again and again, in a thread: thousands of files take too long for the loop."""
        while True:
            with suppress(OSError, OverLimit):  # there is no such folder yet, or it was replaced
                found = await asyncio.to_thread(
                    stored, self.own, self.meter.most(FILES), self.meter.most(DEPTH)
                )
                for limit, amount in zip((DISK_BYTES, FILES, DEPTH), found, strict=True):
                    self.meter.hold(limit, amount)
            await asyncio.sleep(MEASURE_INTERVAL_S)

    def _trouble(self) -> KafkaTrialError | None:
        """Return why the trial cannot continue: an observer failed, a broker died, or a client exceeded a limit."""
        try:
            self.assert_whole()
        except KafkaTrialError as error:
            return error
        if (reason := self.cluster.died()) is not None:
            return BrokerDied("broker-died", "{how}", how=reason)
        with suppress(OverLimit, FileNotFoundError):
            self.meter.hold(LOG_BYTES, sum(log.lstat().st_size for log in logs_in(self.folder)))
        return self.meter.exceeded

    def assert_whole(self) -> None:
        """Raise KafkaTrialError if an observer failed."""
        if (lack := lack_of_room(self.folder, Path(gettempdir()))) is not None:
            raise lack
        if (failure := self.witness.failure) is not None:
            raise KafkaTrialError("witness-failed", "the witness failed: {why}", why=failure)
        if not self.pulse.beats:
            raise KafkaTrialError(
                "pulse-ended", "the pulse of the harness ended: whether it kept time is unknown"
            )
        self.assert_clock_kept()

    def assert_clock_kept(self) -> None:
        """Raise ClockStepped if the wall clock was set."""
        if stepped_ns := self.pulse.stepped_ns:
            how = "forward" if stepped_ns > 0 else "back"
            raise ClockStepped(
                "clock-stepped",
                "this machine's clock was set {how} by {by_s:,.1f} s during the trial",
                how=how,
                by_s=abs(stepped_ns) / 1e9,
            )


async def _unless(trouble: Callable[[], KafkaTrialError | None], work: Awaitable[T]) -> T:
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            if (error := trouble()) is not None:
                raise error
            await asyncio.wait({task}, timeout=WATCH_INTERVAL_S)
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
