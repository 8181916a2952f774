"""Jobs on the lanes of one broker kind: each job waits in a queue and gets a lane to itself.

Every lane has its own proxy server. If one stops answering, it is replaced together with its lane, and jobs on other
lanes are not affected. A cluster that dies is replaced as well: its jobs in progress have failed, and waiting jobs
continue.

Exclusive jobs have a cluster to themselves, one after the other. It is reused only if it shows no effect of the last
job, and replaced otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit

from harness.model.errors import BrokerDied, EnvironmentProblem, KafkaTrialError
from harness.plugins import registry
from harness.plugins.cluster import Cluster
from harness.plugins.proxy import ProxyServer
from harness.running.lane import Lane, open_lane

#: Dead clusters and servers are replaced a limited number of times: after the third cluster, or the third proxy server
#: in a row without a finished job on the lane, the machine is the likely cause. (A client may end one proxy server with
#: each of its trials.)
MAX_CLUSTERS = MAX_SERVERS = 3
#: Enough for thirty lanes whose clients open the maximum of connections, each of which takes two descriptors here. One
#: such client uses up the shells' default of 1024, and then no other lane can accept connections.
OPEN_FILES = 2**16

#: The job on a lane that no other job uses meanwhile. An error of the job itself ends the pool. It returns the seconds
#: for which brokers may remember it if they cannot be asked; if infinite, no other job may use its cluster.
Job = Callable[[Cluster, Lane], Awaitable[float]]

log = logging.getLogger(__name__)


class JobQueue:
    """Jobs that wait for a lane, in order of arrival. If ``open``, more may be added until it is closed.

    ``goes_on`` may end the queue early; waiting jobs are then left. At most ``most_heavy`` of the jobs in ``heavy`` run
    at a time; other jobs overtake those that wait for this.
    """

    def __init__(
        self,
        jobs: Iterable[Job] = (),
        *,
        open: bool = False,
        goes_on: Callable[[], bool] = lambda: True,
        heavy: Collection[Job] = frozenset(),
        most_heavy: int = 1,
    ) -> None:
        self._jobs = deque(jobs)
        self._open, self._goes_on = open, goes_on
        self._heavy, self._most_heavy, self._heavy_now = heavy, most_heavy, 0
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def over(self) -> bool:
        """True if no job will be returned any more."""
        return not self._goes_on() or not (self._jobs or self._open)

    def put(self, job: Job) -> None:
        """Add a job."""
        self._jobs.append(job)
        self._news.set()

    def put_first(self, job: Job) -> None:
        """Put back a job that was taken, to be taken again first."""
        self._jobs.appendleft(job)
        self.done(job)

    def done(self, job: Job) -> None:
        """Report that a taken job has ended."""
        self._heavy_now -= job in self._heavy
        self._news.set()

    def close(self) -> None:
        """Accept no more jobs."""
        self._open = False
        self._news.set()

    async def take(self) -> Job | None:
        """Return the next job that may begin, waiting while there may be one. Return None when the queue has ended."""
        while not self.over:
            is_full = self._heavy_now >= self._most_heavy
            for job in self._jobs:
                if not (is_full and job in self._heavy):
                    self._jobs.remove(job)
                    self._heavy_now += job in self._heavy
                    return job
            self._news.clear()
            await self._news.wait()
        return None


@dataclass(frozen=True)
class Pool:
    """``lanes`` lanes on a cluster of ``broker`` (``kind:id``), with logs below ``logs``; ``say`` reports problems.

    ``starts`` makes the clusters of several pools start in turn. ``exclusive``: one lane, on a cluster that is renewed
    between jobs. ``after_death`` is awaited when a cluster has died; it returns True if the cause was removed from the
    queue. ``pause`` waits a number of seconds, for as long as brokers may remember a job.
    """

    broker: str
    lanes: int
    logs: Path
    say: Callable[[str], None] = lambda _: None
    exclusive: bool = False
    starts: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    after_death: Callable[[], Awaitable[bool]] | None = None
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    open_lane: Callable[..., AbstractAsyncContextManager[Lane]] = open_lane

    async def work(self, queue: JobQueue) -> None:
        """Run the jobs until the queue ends. Raise BrokerDied or EnvironmentProblem if replacements are used up."""
        died = 0
        _allow_open_files()
        while not queue.over:
            if died == MAX_CLUSTERS:
                raise BrokerDied(
                    "clusters-died",
                    "{clusters} clusters of {broker} died; trials not run: {count}",
                    clusters=MAX_CLUSTERS,
                    broker=self.broker,
                    count=len(queue),
                )
            # After an exclusive job has ruined a cluster, no other job may use it.
            if await self._on_one_cluster(queue) and not self.exclusive:
                died += not (self.after_death is not None and await self.after_death())

    async def _on_one_cluster(self, queue: JobQueue) -> bool:
        """Return True if the cluster died."""
        async with AsyncExitStack() as stack:
            async with self.starts:
                if queue.over:
                    return False
                cluster = await self._started(stack)
            async with asyncio.TaskGroup() as group:
                for number in range(self.lanes):
                    group.create_task(self._on_one_lane(cluster, number, queue))
        return cluster.died() is not None

    async def _started(self, stack: AsyncExitStack) -> Cluster:
        """Start a cluster, which the stack removes. Raise BrokerDied if three starts failed."""
        kind, _, broker_id = self.broker.partition(":")
        for attempt in range(1, MAX_CLUSTERS + 1):
            try:
                starting = registry.broker(kind).cluster(broker_id, self.lanes, self.logs)
                return await stack.enter_async_context(starting)
            except BrokerDied as error:
                if attempt == MAX_CLUSTERS:
                    raise
                log.info("a cluster is started again: %s", error)
        raise AssertionError

    async def _on_one_lane(self, cluster: Cluster, number: int, queue: JobQueue) -> None:
        dialled, useless = Counter[int](), 0
        for attempt in count(1):
            folder = self.logs / f"lane-{number}-{attempt}"
            async with (
                registry.proxy("toxiproxy").server(folder) as server,
                self.open_lane(cluster, server, number, dialled) as lane,
            ):
                done = await self._take_turns(cluster, server, lane, queue)
            if done is None:
                return
            self.say(f"lane {number}: its proxy server ({folder}) is not to be trusted any more")
            useless = 0 if done else useless + 1
            if useless == MAX_SERVERS:
                raise EnvironmentProblem(
                    "proxies-died",
                    "lane {lane}: {servers} proxy servers stopped answering; trials not run: {count}",
                    lane=number,
                    servers=MAX_SERVERS,
                    count=len(queue),
                )

    async def _take_turns(
        self, cluster: Cluster, server: ProxyServer, lane: Lane, queue: JobQueue
    ) -> int | None:
        """Return the number of jobs done before the cluster was no longer safe, or None if no jobs are left for it."""
        done = 0
        while await server.alive() and await _emptied(lane):
            job = await queue.take()
            if job is None:
                return None
            if cluster.died() is not None:
                queue.put_first(job)
                return None
            lingers_s = await job(cluster, lane)
            queue.done(job)
            done += 1
            if queue.over or cluster.died() is not None:
                return None
            if self.exclusive:
                if not await _renewed(cluster, lane, lingers_s):
                    return None
                await self.pause(lingers_s)
        return done


def _allow_open_files() -> None:
    """Raise the limit of open files as far as useful and possible. It is never lowered."""
    soft, hard = (math.inf if most == RLIM_INFINITY else most for most in getrlimit(RLIMIT_NOFILE))
    if (wanted := min(OPEN_FILES, hard)) > soft:
        setrlimit(RLIMIT_NOFILE, (int(wanted), RLIM_INFINITY if hard == math.inf else int(hard)))


async def _emptied(lane: Lane) -> bool:
    """Empty the lane. Return True if no connection of the last job is left."""
    try:
        await lane.empty()
    except KafkaTrialError as error:
        log.info("a lane is replaced: %s", error)
        return False
    return True


async def _renewed(cluster: Cluster, lane: Lane, lingers_s: float) -> bool:
    """Renew a cluster and its lane.

    Return True if no effect of the last job is left; after any error it must be replaced.
    """
    if lingers_s == math.inf:
        return False
    try:
        await lane.assert_pristine()
        reason = await cluster.renew()
    except Exception as error:
        reason = str(error) or type(error).__name__
    if reason is not None:
        log.info("a cluster is replaced: %s", reason)
        return False
    return True
