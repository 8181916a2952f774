"""Clusters and lanes for callers that do not use asyncio, such as tests.

One event loop in a separate thread runs the clusters, as in a campaign. Trials are submitted, wait for a lane, run
several at a time, and return verdicts. A lane can also be borrowed, to connect any program to it and to inject any
fault. The trials form a run like any other: it has a folder and can be replayed and reported.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec.structs import replace

from harness.judging.repeats import attempt_of
from harness.model.errors import EnvironmentProblem
from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, TrialSpec
from harness.planning.exclusive import lingers_s, needs_exclusive_cluster
from harness.plugins.client import InstalledClient
from harness.plugins.cluster import Cluster
from harness.running.install import installed
from harness.running.lane import Lane
from harness.running.lane_handle import LaneHandle, borrowed
from harness.running.lane_pool import JobQueue, Pool
from harness.running.trial_runner import Execution
from harness.storage.run_store import RunRecord, RunStore


class ClusterSession:
    """Clusters of ``broker`` with ``record.jobs`` lanes, for one run below ``out_dir``; a context manager.

    Everything starts when first needed. ``say`` reports problems.
    """

    def __init__(
        self, record: RunRecord, broker: str, out_dir: Path, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.store = RunStore.create(out_dir, record)
        self.broker = broker
        self.lanes = record.jobs
        self.stop_reason = "completed"
        self._plan, self._say = record.plan, say
        self._clients: dict[ClientRef, InstalledClient] = {}
        self._execution = Execution(self.store, self._clients, say)
        logs = self.store.make_folder(self.store.folder / "logs")
        self._pool = Pool(broker, record.jobs, logs / "shared", say)
        self._exclusive = Pool(broker, 1, logs / "exclusive", say, exclusive=True)
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._live, name="kafka-trial lab", daemon=True)
        self._lock = threading.Lock()
        self._submitted: dict[str, Future[TrialVerdict]] = {}
        self._pending: set[Future[Any]] = set()
        self._error: BaseException | None = None
        self._claim = ExitStack()

    def __enter__(self) -> Self:
        self._claim.enter_context(self.store.claimed())
        self._thread.start()
        self._up.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        with self._claim:
            self.store.stop(self.stop_reason if error is None else "interrupted")

    def named_anew(self, spec: TrialSpec) -> TrialSpec:
        """Return the spec as the next attempt if a trial with its name was submitted before."""
        names = {each.trial for each in self._plan.trials}
        return next(again for n in count(1) if (again := attempt_of(spec, n)).trial not in names)

    def submit(self, spec: TrialSpec) -> Future[TrialVerdict]:
        """Submit a trial to run as soon as a lane is free. If it was submitted before, return the same future.

        Raise what the installation of its client raises.
        """
        with self._lock:
            if (submitted := self._submitted.get(spec.trial)) is None:
                submitted = self._submitted[spec.trial] = self._submit(spec)
            return submitted

    def _submit(self, spec: TrialSpec) -> Future[TrialVerdict]:
        if spec.client not in self._clients:
            self._clients[spec.client] = installed(spec.client)
        index = len(self._plan.trials)
        self._plan = replace(self._plan, trials=(*self._plan.trials, spec))
        self.store.replace_plan(self._plan)

        async def tried(cluster: Cluster, lane: Lane) -> TrialVerdict:
            return await self._execution.run(index, spec, cluster, lane)

        return self._wanted(tried, alone=needs_exclusive_cluster(spec), lingers_s=partial(lingers_s, spec))

    def folder(self, spec: TrialSpec) -> Path:
        """Return the folder with the evidence of a trial."""
        return self.store.trial_folder(spec.trial)

    @contextmanager
    def lane(self) -> Iterator[LaneHandle]:
        """Borrow a lane until the end of the ``with``. Raise EnvironmentProblem if a fault is left on it at the end."""
        ready: Future[LaneHandle] = Future()
        back = asyncio.Event()

        async def lend(cluster: Cluster, lane: Lane) -> None:
            async with borrowed(cluster, lane, asyncio.get_running_loop()) as mine:
                ready.set_result(mine)
                await back.wait()

        done = self._wanted(lend, alone=False)

        def failed(over: Future[Any]) -> None:
            if not ready.done():
                ready.set_exception(over.exception() or _gone())

        done.add_done_callback(failed)
        lane = ready.result()
        try:
            yield lane
        finally:
            self._loop.call_soon_threadsafe(back.set)
            done.result()

    # The following runs in the loop's thread.

    def _wanted(
        self,
        work: Callable[[Cluster, Lane], Coroutine[Any, Any, Any]],
        *,
        alone: bool,
        lingers_s: Callable[[Any], float] = lambda _: math.inf,
    ) -> Future[Any]:
        """Return the future result of ``work`` on a lane.

        ``lingers_s`` of the result concerns the next exclusive job.
        """
        if self._error is not None:
            raise EnvironmentProblem("lab-closed", "the cluster session is closed: {why}", why=self._error)
        result: Future[Any] = Future()
        self._pending.add(result)

        async def job(cluster: Cluster, lane: Lane) -> float:
            try:
                done = await work(cluster, lane)
                left_s = lingers_s(done)
                result.set_result(done)
                return left_s
            except Exception as error:
                result.set_exception(error)
                return math.inf
            except BaseException:
                result.set_exception(_gone())
                raise
            finally:
                self._pending.discard(result)

        self._loop.call_soon_threadsafe(self._alone.put if alone else self._shared.put, job)
        return result

    def _live(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self._error = error
        finally:
            self._up.set()
            for result in tuple(self._pending):
                if not result.done():
                    result.set_exception(self._error or _gone())

    async def _main(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._shared, self._alone = JobQueue(open=True), JobQueue(open=True)
        self._up.set()
        try:
            async with asyncio.TaskGroup() as group:
                work = [
                    group.create_task(self._worked(self._pool, self._shared)),
                    group.create_task(self._worked(self._exclusive, self._alone)),
                ]
                await self._over.wait()
                for task in work:
                    task.cancel()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors

    async def _worked(self, pool: Pool, queue: JobQueue) -> None:
        first = await queue.take()  # Start no cluster before the first job.
        if first is not None:
            queue.put_first(first)
            await pool.work(queue)


def _gone() -> EnvironmentProblem:
    return EnvironmentProblem("lab-closed", "the cluster session was closed before a lane was free")
