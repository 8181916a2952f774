"""A live trial: one trial against a real cluster, from a fresh topic to the evidence. It collects and never judges.

The client first completes its first records without faults, so that a fault hits a connected and active client, not one
that is still starting. Three phases follow. *load*: the client sends while faults come and go. *heal*: no fault is
left, and the client has its delivery timeout and a margin to give every record a result. If records are still pending
then, the runner waits until the client has made no progress for longer than any of its own timeouts. *final*: the
client is closed, and the log is read over INTERNAL. A trial that cannot be finished has an ending with the reason and
no verdict.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from harness.adapter import ConfigRefused, breaches
from harness.adapter.member import CommandNotOffered
from harness.files import make_folder, remove_tree
from harness.limits.meter import REQUEST_BYTES, ROWS, Meter, OverLimit
from harness.model.contract import AnyEvent, StartupComplete
from harness.model.errors import ClientCrashed, KafkaTrialError, first_of
from harness.model.evidence import Evidence, passed_and_stopped
from harness.model.load import topic_names
from harness.model.rows import Ending, Frame, FrameKind, LogRecord, Phases, TrialRecord
from harness.model.spec import OWN as OWN_VERSION
from harness.model.spec import ClientRef, TrialSpec
from harness.planning import client_settings, typed_settings, unavailable
from harness.planning.unavailable import NotOffered
from harness.plugins import registry
from harness.plugins.client import InstalledClient
from harness.plugins.cluster import Cluster
from harness.plugins.fault import LiveLane
from harness.running import defects
from harness.running.cast import Cast, Casting
from harness.running.injector import Injector, sleep_until
from harness.running.lane import Lane
from harness.running.observation import Observation
from harness.system.pulse import Pulse
from harness.text import redaction
from harness.trial.patience import Patience, flush_timeout_ms
from harness.trial.script import (
    AwaitFaults,
    AwaitPending,
    AwaitResults,
    Begin,
    CallOffFaults,
    Close,
    Facts,
    Flush,
    HandOver,
    Phase,
    Script,
    SleepUntil,
    Step,
    heal_script,
    load_script,
)

STARTUP_TIMEOUT_S = 60.0
LAST_ROWS_S = 10.0
STABLE_POLL_S = 0.2
#: An adapter reads commands regardless of what its client does. If it reads none for this long, it is stuck.
HAND_OVER_S = 30.0


#: The folders that the client may write to while it runs.
OWN = "client"


#: A client does not fail for a feature that it does not claim.
NOT_CLAIMED = (ConfigRefused, NotOffered, CommandNotOffered)


def _assert_met(lack: NotOffered | None) -> None:
    if lack is not None:
        raise lack


class LiveTrial:
    """One run of one :class:`TrialSpec` on one lane. ``run()`` always returns evidence, whatever happened."""

    def __init__(
        self,
        spec: TrialSpec,
        run_id: str,
        topic: str,
        cluster: Cluster,
        lane: Lane,
        clients: Mapping[ClientRef, InstalledClient],
        folder: Path,
        tell_not_set: Callable[[Mapping[str, str]], None] = lambda _: None,
    ) -> None:
        self._spec, self._run_id, self._topic = spec, run_id, topic
        self._cluster, self._lane, self._folder = cluster, lane, folder
        self._kind = registry.workload(spec.workload.kind)
        self._history: list[AnyEvent] = []
        self._frames: list[Frame] = []
        self._log: list[LogRecord] = []
        load = spec.workload
        topics = len(topic_names(load.shape, topic))
        self._meter = Meter(str(spec.client), load.records, load.largest_bytes, topics * load.partitions)
        self._casting = Casting(spec, clients, folder, folder / OWN, self._meter, self._hear)
        members = self._casting.members(cluster.contents, topic)
        self._cast: Cast = members or self._casting.producers(topic)
        mine = LiveLane(lane.proxies, lane.witness, cluster, topic, spec.workload.partitions, members)
        self._injector = Injector(spec.faults, mine)
        self._phases = Phases()
        self._phase_ns = 0
        self._startup: StartupComplete | None = None
        self._not_set: dict[str, str] = {}
        self._tell_not_set = tell_not_set
        self._left_out: dict[str, int] = {}
        self._pulse = Pulse()
        self._trace: tuple[Any, ...] = ()
        self._observation = Observation(folder, folder / OWN, cluster, lane.witness, self._pulse, self._meter)

    async def run(self) -> Evidence:
        """Collect evidence. Any error becomes the ending; cancellation is passed on."""
        ending, code, reason = Ending.COMPLETE, "", ""
        self._lane.witness.record(self._saw, self._meter)
        try:
            async with self._pulse:
                await self._observation.during(self._collect())
            self._observation.assert_clock_kept()
        except Exception as error:
            ending, code, reason = self._ended_by(error)
        finally:
            self._lane.witness.record(None, self._meter)
            with suppress(OSError):
                await asyncio.to_thread(remove_tree, self._folder / OWN)
        self._mark(end_ns=time.monotonic_ns())
        return self._evidence(ending, code, reason)

    def _ended_by(self, error: Exception) -> tuple[Ending, str, str]:
        known = first_of(error) if isinstance(error, ExceptionGroup) else error
        if not isinstance(known, KafkaTrialError):
            return Ending.HARNESS_ERROR, defects.CODE, defects.told(error, self._folder)
        ending = Ending.UNSUPPORTED if isinstance(known, NOT_CLAIMED) else Ending.HARNESS_ERROR
        return ending, known.code, redaction.text(str(known))

    def _saw(self, row: Frame) -> None:
        if self._meter.exceeded is None:
            self._frames.append(row)
            with suppress(OverLimit):  # The observation reports it.
                self._meter.spend(ROWS)
                if row.kind is not FrameKind.RESPONSE:
                    self._meter.spend(REQUEST_BYTES, row.size_bytes)

    async def _collect(self) -> None:
        _assert_met(unavailable.on_brokers(self._spec, len(self._cluster.node_ids)))
        await self._lane.assert_pristine()
        self._came_around()  # Forget connections from before this trial.
        topics = topic_names(self._spec.workload.shape, self._topic)
        for topic in topics:
            await self._cluster.create_topic(topic, self._spec.workload.partitions)
        make_folder(self._folder / OWN)
        async with self._faults_prepared(), self._cast as client:
            for told in await client.startup(STARTUP_TIMEOUT_S):
                self._startup = self._startup or told
                self._assert_as_asked(told)
            async with asyncio.TaskGroup() as group:
                faults = group.create_task(self._injector.run())
                await self._injector.startup()
                bootstrap = {"bootstrap.servers": self._lane.bootstrap}
                config = typed_settings.settings(self._spec.config) | bootstrap
                assert self._startup is not None  # each producer has reported its startup
                named = client_settings.given(self._spec, self._startup.features)
                for configured in await client.configure(
                    self._run_id, config, role=self._kind.role, own=named
                ):
                    self._not_set |= client_settings.not_set(self._spec, named, configured)
                self._tell_not_set(client_settings.ignored(self._spec, self._not_set))
                _assert_met(unavailable.in_flight(self._spec, self._not_set))
                _assert_met(unavailable.assignor(self._spec, self._not_set))
                await self._play(load_script(self._spec.workload), client, faults)
            await self._play(heal_script(flush_timeout_ms(self._spec.config)), client, faults)
            self._left_out = client.left_out
        self._trace = await asyncio.to_thread(self._casting.traces)
        await self._witnessed_to_the_end()
        await self._lane.assert_pristine()
        self._assert_nobody_came_around()
        if self._kind.stable_within_ms is not None:
            await self._stable(topics, self._kind.stable_within_ms(self._spec))
        self._log = [row for topic in topics for row in await self._cluster.read_log(topic, self._meter)]

    async def _stable(self, topics: Sequence[str], timeout_ms: int) -> None:
        """Wait until no transaction of the topics is open, for at most this time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                while not all([await self._cluster.is_stable(topic) for topic in topics]):  # noqa: ASYNC110
                    await asyncio.sleep(STABLE_POLL_S)

    @property
    def active_faults(self) -> list[str]:
        """Return the kinds of the faults in effect at this moment."""
        return [spec.kind for spec in self._injector.active]

    @property
    def phase(self) -> str:
        """Return the phase of the trial: starting, load, heal or final."""
        named = {"final": self._phases.final_ns, "heal": self._phases.heal_ns, "load": self._phases.load_ns}
        return next((name for name, at_ns in named.items() if at_ns is not None), "starting")

    def _assert_as_asked(self, told: StartupComplete) -> None:
        """Check that the client is the one that was asked for: a verdict applies to its name and version only."""
        asked = self._spec.client
        if asked.version != (OWN_VERSION if asked.command else "") and told.client_version != asked.version:
            raise breaches.other_version(str(asked), told.client_version)
        needed = self._kind.features[self._spec.guarantee]
        if needed not in told.features:
            raise unavailable.feature(asked, needed)

    def _hear(self, event: AnyEvent) -> None:
        self._history.append(event)
        self._injector.heard(event)

    async def _play(self, script: Script, client: Cast, faults: asyncio.Task[None]) -> None:
        """Do the script's steps. After a crash, the client's records are in the log, and its events in the history."""
        step = next(script, None)
        while step is not None:
            crashed = False
            try:
                await self._do(step, client, faults)
            except ClientCrashed:
                crashed = True
            facts = Facts(
                now_ns=time.monotonic_ns(),
                phase_ns=self._phase_ns,
                settled=client.settled,
                crashed=crashed,
                faults_active=bool(self._injector.active),
                faults_pending=not faults.done(),
            )
            with suppress(StopIteration):
                step = script.send(facts)
                continue
            return

    async def _do(self, step: Step, client: Cast, faults: asyncio.Task[None]) -> None:
        match step:
            case HandOver(numbers):
                await self._hand_over(client, numbers)
            case AwaitResults(timeout_ms):
                with suppress(TimeoutError):
                    await client.settle(timeout_ms / 1000)
            case Begin(phase):
                await self._begin(phase)
            case SleepUntil(at_ns):
                await sleep_until(at_ns)
            case AwaitFaults(timeout_ms):
                await asyncio.wait({faults}, timeout=timeout_ms / 1000)
            case CallOffFaults():
                faults.cancel()
            case Flush(timeout_ms):
                await client.flush(timeout_ms)
            case AwaitPending():
                await self._await_pending(client)
            case Close(timeout_ms):
                await client.close(timeout_ms)

    async def _begin(self, phase: Phase) -> None:
        if phase is Phase.HEAL:
            await self._injector.clear()
            await self._lane.assert_pristine()
        self._phase_ns = time.monotonic_ns()
        self._mark(**{f"{phase}_ns": self._phase_ns})
        if phase is Phase.LOAD:
            self._injector.load_began(self._phase_ns)

    async def _await_pending(self, client: Cast) -> None:
        patience = Patience(self._spec.configs, self._not_set, self._phase_ns, self._kind.api)
        await client.until(
            lambda: patience.is_over(self._history, self._frames, time.monotonic_ns()),
            patience.longest_ms / 1000,
        )

    async def _hand_over(self, client: Cast, numbers: range) -> None:
        command = self._kind.command(self._spec, self._run_id, self._topic, numbers)
        try:
            async with asyncio.timeout(HAND_OVER_S):
                await client.load(self._spec.workload.producer_of(numbers.start), command)
        except TimeoutError:
            if self._kind.members is not None:
                raise KafkaTrialError(
                    "records-not-written",
                    "the harness could not write records to the cluster for {seconds:g} s",
                    seconds=HAND_OVER_S,
                ) from None
            raise breaches.takes_no_command(str(self._spec.client), HAND_OVER_S) from None

    @asynccontextmanager
    async def _faults_prepared(self) -> AsyncIterator[None]:
        """Prepare the faults, and remove them from the lane at exit, whatever happens."""
        try:
            await self._injector.prepare()
            yield
        finally:
            await self._injector.clear()

    async def _witnessed_to_the_end(self) -> None:
        """Wait for the last connections to end, so that their last rows are present. Then check the witness."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_ROWS_S):
                await self._lane.witness.idle.wait()
        self._observation.assert_whole()

    def _came_around(self) -> list[str]:
        """Return the brokers that any program but the witness has reached since the last call.

        Each dial explains one connection.
        """
        dialled, around = self._lane.witness.dialled, []
        for node_id, port in self._cluster.came_to(self._lane.number):
            if dialled[port]:
                dialled[port] -= 1
            else:
                around.append(f"broker {node_id} (from port {port})")
        return around

    def _assert_nobody_came_around(self) -> None:
        """Raise if a client reached a broker without the witness: it met no fault, and no row shows what it sent."""
        if around := self._came_around():
            raise KafkaTrialError(
                "lane-bypassed", "a connection bypassed the lane, to {to}", to=tuple(around)
            )

    def _mark(self, **moments: int) -> None:
        self._phases = Phases(**(asdict(self._phases) | moments))

    def _evidence(self, ending: Ending, code: str, reason: str) -> Evidence:
        frames, stopped = passed_and_stopped(self._frames)
        record = TrialRecord(
            spec=self._spec,
            run_id=self._run_id,
            topic=self._topic,
            lane=self._lane.number,
            phases=self._phases,
            ending=ending,
            code=code,
            reason=reason,
            client=_about(self._startup),
            not_set=self._not_set,
            left_out=sum(self._left_out.values()),
            left_outs=self._left_out if len(self._left_out) > 1 else {},
            harness_stalls=tuple(self._pulse.stalls),
        )
        return Evidence(
            record,
            tuple(self._history),
            frames,
            self._injector.accounted(self._frames),
            tuple(self._log),
            self._trace,
            stopped,
        )


def _about(startup: StartupComplete | None) -> dict[str, str | int | bool | list[str] | None]:
    if startup is None:
        return {}
    told = asdict(startup)
    return {key: told[key] for key in ("client", "client_version", "library_version", "language", "features")}
