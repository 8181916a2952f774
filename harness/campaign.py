"""Running a plan: one cluster a broker, one lane a job, every trial collected, judged and stored as it ends.

The run owns everything that it starts. Every lane has a proxy server of its own: one that stops answering is replaced
with its lane, and the trials on the others do not notice. A trial is finished when its verdict is written; a run that
was killed goes on where it stopped, with the trials that have none.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path

import msgspec

from harness import registry
from harness.capture.observer import observed
from harness.errors import BrokerDied, EnvironmentProblem
from harness.evidence import Evidence
from harness.judge import judge
from harness.lane import Lane, open_lane
from harness.live import LiveTrial
from harness.ports import Cluster, InstalledClient, Launch, ProxyServer
from harness.rows import CaptureRecord, TrialVerdict
from harness.spec import ClientRef, TrialSpec
from harness.store import RunRecord, RunStore

#: What dies is replaced, but not for ever: the third cluster, the third proxy server of a lane is the machine's doing.
MAX_CLUSTERS = MAX_SERVERS = 3
#: What a cluster for one trial costs the machine, in trials that share one: so many of ``jobs`` make room for it.
JOBS_A_CLUSTER = 3


@dataclass(frozen=True)
class Campaign:
    """What carries a plan out. ``began`` and ``ended`` tell whoever watches (progress), ``say`` what is amiss, once."""

    store: RunStore
    clients: Mapping[ClientRef, InstalledClient]
    jobs: int
    began: Callable[[TrialSpec], None]
    ended: Callable[[TrialVerdict], None]
    say: Callable[[str], None] = lambda _: None
    _said: set[str] = field(default_factory=set)

    @cached_property
    def _record(self) -> RunRecord:
        return self.store.record

    async def run(self) -> None:
        """Run every trial of the store's plan that has no verdict yet."""
        plan = self._record.plan
        numbered = [
            (index, spec) for index, spec in enumerate(plan.trials) if not self.store.finished(spec.trial)
        ]
        for (broker, alone), group in groupby(sorted(numbered, key=_cluster_of), key=_cluster_of):
            waiting = deque(group)
            if not alone:
                await self._on_clusters(broker, waiting, lanes=min(self.jobs, len(waiting)))
                continue
            async with asyncio.TaskGroup() as clusters:
                for _ in range(max(1, self.jobs // JOBS_A_CLUSTER)):
                    clusters.create_task(self._one_by_one(broker, waiting))

    async def _one_by_one(self, broker: str, waiting: deque[tuple[int, TrialSpec]]) -> None:
        while waiting:
            await self._on_clusters(broker, deque([waiting.popleft()]), lanes=1)

    async def _on_clusters(self, broker: str, waiting: deque[tuple[int, TrialSpec]], lanes: int) -> None:
        first, _ = waiting[0]
        logs = self.store.folder / "logs" / f"{broker.replace(':', '-')}-{first}"
        for _ in range(MAX_CLUSTERS):
            await self._on_one_cluster(broker, waiting, lanes, logs)
            if not waiting:
                return
        raise BrokerDied(f"{MAX_CLUSTERS} clusters of {broker} died; {len(waiting)} trials were not run")

    async def _on_one_cluster(
        self, broker: str, waiting: deque[tuple[int, TrialSpec]], lanes: int, logs: Path
    ) -> None:
        kind, _, broker_id = broker.partition(":")
        async with (
            registry.broker(kind).cluster(broker_id, lanes, logs) as cluster,
            asyncio.TaskGroup() as group,
        ):
            for number in range(lanes):
                group.create_task(self._on_one_lane(cluster, number, waiting, logs))

    async def _on_one_lane(
        self, cluster: Cluster, number: int, waiting: deque[tuple[int, TrialSpec]], logs: Path
    ) -> None:
        dialled: set[int] = set()
        for attempt in range(1, MAX_SERVERS + 1):
            folder = logs / f"lane-{number}-{attempt}"
            async with (
                registry.proxy("toxiproxy").server(folder) as server,
                open_lane(cluster, server, number, dialled) as lane,
            ):
                await self._work(cluster, server, lane, waiting)
            if cluster.died() is not None or not waiting:
                return
            self._say_once(f"lane {number}: its proxy server ({folder}) is not to be trusted any more")
        raise EnvironmentProblem(
            f"lane {number}: {MAX_SERVERS} proxy servers stopped answering; {len(waiting)} trials were not run"
        )

    async def _work(
        self, cluster: Cluster, server: ProxyServer, lane: Lane, waiting: deque[tuple[int, TrialSpec]]
    ) -> None:
        while cluster.died() is None and await server.alive() and waiting:
            index, spec = waiting.popleft()
            self.began(spec)
            trial = LiveTrial(
                spec=spec,
                run_id=self._record.run_id,
                topic=f"{self._record.run_id}-{index}",
                cluster=cluster,
                lane=lane,
                client=self.clients[spec.client],
                folder=self.store.trial_folder(spec.trial),
            )
            evidence = await self._collect(trial, lane, spec)
            verdict = await asyncio.to_thread(self._conclude, evidence, spec)
            self.ended(verdict)

    async def _collect(self, trial: LiveTrial, lane: Lane, spec: TrialSpec) -> Evidence:
        if not self._record.capture:
            return await trial.run()
        addresses = [proxy.address for proxy in lane.proxies]
        async with observed(self.store.trial_folder(spec.trial), addresses) as observer:
            evidence = await trial.run()
        self._doubt(spec, observer.record)
        record = msgspec.structs.replace(evidence.record, capture=observer.record)
        return replace(evidence, record=record, tcp=observer.told())

    def _doubt(self, spec: TrialSpec, capture: CaptureRecord) -> None:
        if capture.lacks is not None:
            doubt = f"no capture: {capture.lacks}"
        elif not capture.is_whole:
            lost = (
                f"{capture.dropped} packets dropped, {capture.cut} cut, {capture.unread} connections unread"
            )
            doubt = f"the capture of {spec.trial} is not whole, nothing is compared with it: {lost}"
        else:
            return
        self._say_once(doubt)

    def _say_once(self, doubt: str) -> None:
        if doubt not in self._said:
            self._said.add(doubt)
            self.say(doubt)

    def _conclude(self, evidence: Evidence, spec: TrialSpec) -> TrialVerdict:
        self.store.write_evidence(evidence)
        verdict = judge(evidence, registry.scenario(spec.scenario), registry.checks())
        self.store.write_verdict(verdict)
        return verdict


def _cluster_of(numbered: tuple[int, TrialSpec]) -> tuple[str, bool]:
    _, spec = numbered
    return spec.broker, spec.alone or any(registry.fault(fault.kind).alone for fault in spec.faults)


def install(refs: Iterable[ClientRef]) -> dict[ClientRef, InstalledClient]:
    """Make every client runnable, each once. Raises what :meth:`ports.ClientKind.install` raises."""
    return {ref: installed(ref) for ref in dict.fromkeys(refs)}


def installed(ref: ClientRef) -> InstalledClient:
    """One client, ready to run: by its kind, or by the user's own command."""
    launch = Launch(ref.command, {}) if ref.command else registry.client(ref.name).install(ref.version)
    return InstalledClient(ref, launch)


def rejudge(store: RunStore) -> list[TrialVerdict]:
    """Judge the stored evidence of every finished trial again, and replace its verdict."""
    verdicts = []
    for spec in store.record.plan.trials:
        if store.finished(spec.trial):
            evidence = store.read_evidence(spec.trial)
            verdict = judge(evidence, registry.scenario(spec.scenario), registry.checks())
            store.write_verdict(verdict)
            verdicts.append(verdict)
    return verdicts
