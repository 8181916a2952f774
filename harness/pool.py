"""Jobs on the lanes of one broker kind: whoever has something to do with a lane waits in line, and gets one to itself.

Every lane has a proxy server of its own: one that stops answering is replaced with its lane, and the jobs on the others
do not notice. A cluster that dies is replaced as well; what was under way on it has failed, what waits goes on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness import registry
from harness.errors import BrokerDied, EnvironmentProblem
from harness.lane import Lane, open_lane
from harness.ports import Cluster, ProxyServer

#: What dies is replaced, but not for ever: the third cluster, the third proxy server of a lane is the machine's doing.
MAX_CLUSTERS = MAX_SERVERS = 3

#: What is done with one lane; nobody else has it meanwhile. An error of its own ends the pool.
Job = Callable[[Cluster, Lane], Awaitable[None]]


class Line:
    """Jobs that wait for a lane, first come, first served. ``open``: more may come, until it is closed.

    ``goes_on`` may end it early: what waits then is left.
    """

    def __init__(
        self, jobs: Iterable[Job] = (), *, open: bool = False, goes_on: Callable[[], bool] = lambda: True
    ) -> None:
        self._jobs = deque(jobs)
        self._open, self._goes_on = open, goes_on
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def over(self) -> bool:
        """True if nobody will be given a job any more."""
        return not self._goes_on() or not (self._jobs or self._open)

    def put(self, job: Job) -> None:
        """One more job."""
        self._jobs.append(job)
        self._news.set()

    def put_first(self, job: Job) -> None:
        """A job that was taken, and is given back to whoever comes next."""
        self._jobs.appendleft(job)
        self._news.set()

    def close(self) -> None:
        """Nothing comes any more."""
        self._open = False
        self._news.set()

    async def take(self) -> Job | None:
        """The next job, waiting for one while more may come; None if it is over."""
        while not self.over:
            if self._jobs:
                return self._jobs.popleft()
            self._news.clear()
            await self._news.wait()
        return None


@dataclass(frozen=True)
class Pool:
    """``lanes`` lanes on a cluster of ``broker`` (``kind:id``), logs below ``logs``; ``say`` what is amiss."""

    broker: str
    lanes: int
    logs: Path
    say: Callable[[str], None] = lambda _: None

    async def work(self, line: Line) -> None:
        """Do the jobs until the line is over. BrokerDied, EnvironmentProblem: what died cannot be replaced any more."""
        for _ in range(MAX_CLUSTERS):
            await self._on_one_cluster(line)
            if line.over:
                return
        raise BrokerDied(f"{MAX_CLUSTERS} clusters of {self.broker} died; {len(line)} trials were not run")

    async def _on_one_cluster(self, line: Line) -> None:
        kind, _, broker_id = self.broker.partition(":")
        async with (
            registry.broker(kind).cluster(broker_id, self.lanes, self.logs) as cluster,
            asyncio.TaskGroup() as group,
        ):
            for number in range(self.lanes):
                group.create_task(self._on_one_lane(cluster, number, line))

    async def _on_one_lane(self, cluster: Cluster, number: int, line: Line) -> None:
        dialled: set[int] = set()
        for attempt in range(1, MAX_SERVERS + 1):
            folder = self.logs / f"lane-{number}-{attempt}"
            async with (
                registry.proxy("toxiproxy").server(folder) as server,
                open_lane(cluster, server, number, dialled) as lane,
            ):
                await _take_turns(cluster, server, lane, line)
            if cluster.died() is not None or line.over:
                return
            self.say(f"lane {number}: its proxy server ({folder}) is not to be trusted any more")
        raise EnvironmentProblem(
            f"lane {number}: {MAX_SERVERS} proxy servers stopped answering; {len(line)} trials were not run"
        )


async def _take_turns(cluster: Cluster, server: ProxyServer, lane: Lane, line: Line) -> None:
    while cluster.died() is None and await server.alive():
        job = await line.take()
        if job is None:
            return
        await job(cluster, lane)
