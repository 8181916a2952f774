"""Pack the trials of a run while others run, so that its report finds most of them packed.

The packing is a program of its own of low priority, and its result is optional: if it fails, is ended, or
lacks its extra, the report packs those trials itself. The number of trials that it waits for grows with the run,
because each time it also reads what it keeps.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL

from harness.model.errors import EnvironmentProblem
from harness.storage.run_store import RunStore
from harness.system.processes import spawn, stop

#: A process packs this many at a time.
LEAST_TRIALS = 64
#: A run is packed again when it has grown by this share.
GROWTH = 4
#: How long the program may take to remove what it has not finished.
GRACE_S = 5.0


def is_due(finished: int, packed: int) -> bool:
    """Return whether the finished trials that are not packed yet are worth a program."""
    return finished - packed >= max(LEAST_TRIALS, packed // GROWTH)


class Packer:
    """Counts the finished trials of a run, and packs them. ``packed``: how many of them the last program found."""

    def __init__(self, store: RunStore, finished: int) -> None:
        self._store, self._finished, self.packed = store, finished, 0
        self._news = asyncio.Event()

    def ended(self) -> None:
        """Count one more finished trial."""
        self._finished += 1
        self._news.set()

    async def work(self) -> None:
        """Pack whenever it is due, until this is cancelled or the program fails."""
        while await self._pack_what_is_due():
            await self._news.wait()
            self._news.clear()

    async def _pack_what_is_due(self) -> bool:
        while is_due(found := self._finished, self.packed):
            program: list[str | Path] = [
                sys.executable,
                "-P",
                "-m",
                f"{__package__}.program",
                self._store.folder,
            ]
            child = await spawn(program, stdout=DEVNULL, stderr=DEVNULL)
            try:
                if await child.wait():
                    return False
            finally:
                await stop(child, GRACE_S)
            self.packed = found
        return True


@asynccontextmanager
async def while_trials_end(packer: Packer) -> AsyncIterator[None]:
    """Pack during the block, and end the program with it."""
    task = asyncio.create_task(packer.work())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, EnvironmentProblem):
            await task
