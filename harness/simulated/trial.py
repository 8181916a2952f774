"""A simulated trial: one trial in virtual time, from a fresh cluster to the evidence. It collects and never judges.

The phases, their limits and the rows are those of live mode (:mod:`harness.running.live_trial`). The client runs in
this process, the brokers are scripted, and the spec determines every byte. A trial that does not end, because nothing
more can happen or because far too much does, is a harness-error that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import asdict, replace

from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.contract import (
    AnyEvent,
    Close,
    Configured,
    Fatal,
    Flush,
    StartupComplete,
)
from harness.model.dice import Dice
from harness.model.errors import ClientBroken, KafkaTrialError, UsageError
from harness.model.evidence import Evidence, passed_and_stopped
from harness.model.load import topic_names
from harness.model.mode import Mode
from harness.model.rows import Ending, FaultRow, LogRecord, Phases, TrialRecord
from harness.model.spec import TrialSpec
from harness.planning import client_settings, typed_settings, unavailable, validate_faults
from harness.planning.unavailable import NotOffered
from harness.plugins import registry
from harness.plugins.registry import client as client_kind
from harness.simulated.casting import Casting, ConfigNotAccepted
from harness.simulated.injection import SimulatedInjector
from harness.simulated.lane import SimulatedLane
from harness.simulated.members import SimulatedMembers
from harness.simulated.network import LANE, Network
from harness.simulated.ports import SimulatedClientKind
from harness.simulated.producers import SimulatedProducers
from harness.simulated.scheduler import NS_PER_MS, WALL_MS_AT_ZERO, Scheduler
from harness.trial import script
from harness.trial.patience import Patience, flush_timeout_ms
from harness.trial.script import (
    WATCH_INTERVAL_MS,
    AwaitFaults,
    AwaitPending,
    AwaitResults,
    Begin,
    CallOffFaults,
    Facts,
    HandOver,
    Phase,
    Script,
    SleepUntil,
    Step,
    heal_script,
    load_script,
)

#: Virtual time does not begin at 0, so that no client or harness code takes a time for "never".
START_NS = 1_000 * NS_PER_MS
LAST_ROWS_MS = 2_000
#: How late a response may be, as in live mode.
GRACE_MS = 10_000
#: A trial of a few hundred records has some thousand events. Far more events mean an endless loop of the client or the
#: harness.
MAX_STEPS = 2_000_000


class SimulatedTrial:
    """One run of one :class:`TrialSpec`. ``run()`` always returns evidence, whatever happens.

    ``kind`` replaces the client kind that the spec names, if that is not a registered one.
    """

    def __init__(
        self,
        spec: TrialSpec,
        run_id: str,
        kind: SimulatedClientKind | None = None,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self._kind, self._max_steps = kind, max_steps
        self._spec, self._run_id, self._topic = spec, run_id, f"{run_id}-0"
        self._workload = registry.workload(spec.workload.kind)
        self._scheduler = Scheduler(START_NS)
        self._history: list[AnyEvent] = []
        self._phases = Phases()
        self._log: Sequence[LogRecord] = ()
        self._client: SimulatedProducers | SimulatedMembers | None = None
        self._names = spec.workload.shape.names
        self._casting = Casting(spec, run_id, self._topic, self._clock, self._hear, self._id)
        self._client_ns: int | None = None
        self._injector: SimulatedInjector | None = None
        self._next_id = 1
        self._steps = 0
        self._fatal: Fatal | None = None
        self._network: Network | None = None
        self._lane: SimulatedLane | None = None
        self._phase_ns = 0

    def run(self) -> Evidence:
        """Collect evidence. Errors of brokers and clients become the ending."""
        ending, code, reason = Ending.COMPLETE, "", ""
        try:
            self._collect()
        except (ConfigNotAccepted, NotOffered) as refused:
            ending, code, reason = Ending.UNSUPPORTED, refused.code, str(refused)
        except KafkaTrialError as error:
            ending, code, reason = Ending.HARNESS_ERROR, error.code, str(error)
        self._mark(end_ns=self._scheduler.now_ns)
        return self._evidence(ending, code, reason)

    # Phases.

    def _collect(self) -> None:
        spec = self._spec
        validate_faults.check([spec], Mode.SIMULATED)
        version, nodes = broker_of(spec.broker)
        if (lack := unavailable.on_brokers(spec, nodes)) is not None:
            raise lack
        addresses = {node_id: (f"broker-{node_id}", 9092) for node_id in range(1, nodes + 1)}
        dice = Dice(spec.seed, f"{spec.scenario}/cluster")
        cluster = ScriptedCluster(version, addresses, dice, wall_ms_at_zero=WALL_MS_AT_ZERO)
        cluster.use(self._scheduler)
        network = self._network = Network(self._scheduler, cluster, addresses)
        lane = SimulatedLane(network.proxies, cluster, self._topic, self._scheduler, network.rules)
        self._lane = lane
        injector = self._injector = SimulatedInjector(spec.faults, lane, network)
        topics = topic_names(spec.workload.shape, self._topic)
        for topic in topics:
            cluster.create_topic(topic, spec.workload.partitions)
        injector.startup()
        self._start(network, ",".join(f"{host}:{port}" for host, port in addresses.values()))
        self._play(load_script(spec.workload))
        self._play(heal_script(flush_timeout_ms(spec.config)))
        assert self._client is not None
        self._client.finish()
        self._client_ns = None
        self._until(lambda: not any(proxy.connections for proxy in network.proxies), LAST_ROWS_MS)
        if self._workload.stable_within_ms is not None:
            self._until(lambda: all(map(cluster.is_stable, topics)), self._workload.stable_within_ms(spec))
        self._log = [row for topic in topics for row in cluster.read_log(topic)]

    def _start(self, network: Network, bootstrap: str) -> None:
        spec = self._spec
        config = typed_settings.settings(spec.config) | {"bootstrap.servers": bootstrap}
        kind = self._kind or client_kind(spec.client.name)
        if not isinstance(kind, SimulatedClientKind):
            raise UsageError(
                "client-not-simulated",
                "client {client!r} cannot run in simulated mode",
                client=spec.client.name,
            )
        assert self._lane is not None
        self._client = self._casting.clients(kind, config, network, self._lane)
        needed = self._workload.features.get(spec.guarantee, str(spec.guarantee))
        told = next((event for event in self._history if isinstance(event, StartupComplete)), None)
        if told is not None and needed not in told.features:
            raise unavailable.feature(spec.client, needed)
        self._client_ns = self._scheduler.now_ns

    def _play(self, steps: Script) -> None:
        step = next(steps, None)
        while step is not None:
            self._do(step)
            injector = self._injector
            assert injector is not None
            facts = Facts(
                now_ns=self._scheduler.now_ns,
                phase_ns=self._phase_ns,
                settled=self._is_settled(),
                faults_active=injector.holding,
                faults_pending=injector.holding or injector.waiting,
            )
            with suppress(StopIteration):
                step = steps.send(facts)
                continue
            return

    def _do(self, step: Step) -> None:
        injector = self._injector
        assert injector is not None
        match step:
            case HandOver(numbers):
                self._hand_over(numbers)
            case AwaitResults(timeout_ms):
                self._until(self._is_settled, timeout_ms)
            case Begin(phase):
                self._begin(phase, injector)
            case SleepUntil(at_ns):
                self._until_ns(at_ns)
            case AwaitFaults(timeout_ms):
                self._until(lambda: not (injector.holding or injector.waiting), timeout_ms)
            case CallOffFaults():
                injector.stop_waiting()
            case script.Flush(timeout_ms):
                self._op(Flush(self._id(), timeout_ms))
            case AwaitPending():
                self._await_pending()
            case script.Close(timeout_ms):
                self._op(Close(self._id(), timeout_ms))

    def _begin(self, phase: Phase, injector: SimulatedInjector) -> None:
        if phase is Phase.HEAL:
            injector.clear()
            self._settle_lane()
        self._phase_ns = self._scheduler.now_ns
        self._mark(**{f"{phase}_ns": self._phase_ns})
        if phase is Phase.LOAD:
            injector.run()

    def _settle_lane(self) -> None:
        assert self._lane is not None
        self._lane.settle()
        for proxy in self._lane.proxies:
            if not proxy.is_pristine:
                raise KafkaTrialError(
                    "fault-left", "the proxy of broker {broker} still has a fault", broker=proxy.node_id
                )

    def _await_pending(self) -> None:
        """Wait for records that are pending after the flush, until ``stuck`` can judge."""
        assert self._network is not None
        patience = Patience(self._spec.configs, self._not_set, self._phase_ns, self._workload.api)
        give_up_ns = self._scheduler.now_ns + patience.longest_ms * NS_PER_MS
        while not self._is_settled() and (now_ns := self._scheduler.now_ns) < give_up_ns:
            if patience.is_over(self._history, self._network.rows, now_ns):
                break
            self._until(self._is_settled, WATCH_INTERVAL_MS)

    # Client.

    def _hand_over(self, numbers: range) -> None:
        assert self._client is not None
        command = self._workload.command(self._spec, self._run_id, self._topic, numbers)
        producer = self._spec.workload.producer_of(numbers.start)
        self._client.load(producer, replace(command, id=self._id()))
        self._client_ns = self._scheduler.now_ns

    def _op(self, command: Flush | Close) -> None:
        """Make the client flush or close, and wait for its response as long as live mode would."""
        assert self._client is not None
        client = self._client
        ended = client.flush(command) if isinstance(command, Flush) else client.close(command)
        self._client_ns = self._scheduler.now_ns
        self._until(ended, command.timeout_ms + GRACE_MS)

    def _hear(self, event: AnyEvent) -> None:
        self._history.append(event)
        if self._injector is not None:
            self._injector.heard(event)
        if isinstance(event, Fatal):
            self._fatal = event

    def _is_settled(self) -> bool:
        assert self._client is not None
        return self._client.settled

    def _id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    # Virtual time.

    def _clock(self) -> int:
        return self._scheduler.now_ns

    def _until_ns(self, at_ns: int) -> None:
        self._advance(None, at_ns)

    def _until(self, seen: Callable[[], bool], timeout_ms: int) -> None:
        """Let time pass until ``seen()``, or for ``timeout_ms``."""
        self._advance(seen, self._scheduler.now_ns + timeout_ms * NS_PER_MS)

    def _advance(self, seen: Callable[[], bool] | None, until_ns: int) -> None:
        scheduler, network, client = self._scheduler, self._network, self._client
        assert network is not None and client is not None
        while seen is None or not seen():
            client_ns = self._client_ns
            scheduler.run_next(until_ns if client_ns is None or client_ns > until_ns else client_ns)
            now_ns = scheduler.now_ns
            if network.news or (client_ns is not None and client_ns <= now_ns):
                self._client_ns = client.step(now_ns)
                self._steps += 1
                if self._fatal is not None:
                    raise ClientBroken(
                        "client-gave-up",
                        "it gave up: {error}: {message}",
                        error=self._fatal.error,
                        message=self._fatal.message,
                    )
                if self._steps + scheduler.happened > self._max_steps:
                    raise KafkaTrialError(
                        "trial-in-circles",
                        "the trial did not end within {steps} steps",
                        steps=self._max_steps,
                    )
            elif now_ns >= until_ns:
                return

    # Evidence.

    @property
    def _not_set(self) -> dict[str, str]:
        """Return the settings that the client could not apply, each with the reason."""
        configured = next((event for event in self._history if isinstance(event, Configured)), None)
        if configured is None:
            return {}
        return client_settings.not_set(self._spec, {}, configured)

    def _mark(self, **moments: int) -> None:
        self._phases = Phases(**(asdict(self._phases) | moments))

    def _evidence(self, ending: Ending, code: str, reason: str) -> Evidence:
        rows = () if self._network is None else tuple(self._network.rows)
        faults: tuple[FaultRow, ...] = () if self._injector is None else self._injector.accounted(rows)
        frames, stopped = passed_and_stopped(rows)
        record = TrialRecord(
            spec=self._spec,
            run_id=self._run_id,
            topic=self._topic,
            lane=LANE,
            phases=self._phases,
            ending=ending,
            code=code,
            reason=reason,
            client=_about(self._history),
            not_set=self._not_set,
            left_outs=dict.fromkeys(self._names, 0) if len(self._names) > 1 else {},
        )
        trace: tuple[Any, ...] = (
            tuple(self._client.trace)
            if isinstance(self._client, SimulatedProducers) and self._spec.workload.is_traced
            else ()
        )
        return Evidence(record, tuple(self._history), frames, faults, tuple(self._log), trace, stopped)


def broker_of(broker: str) -> tuple[str, int]:
    """Return version and number of nodes of ``scripted:<version>x<nodes>``. Raise UsageError for any other form."""
    kind, _, broker_id = broker.partition(":")
    version, cross, nodes = broker_id.rpartition("x")
    if kind != "scripted" or not (version and cross and nodes.isdecimal() and 1 <= int(nodes) <= 9):
        raise UsageError(
            "broker-not-simulated",
            "broker {broker!r} is not a simulated broker; write scripted:VERSIONxNODES, such as scripted:4.3.1x3",
            broker=broker,
        )
    return version, int(nodes)


def _about(history: Sequence[AnyEvent]) -> dict[str, str | int | bool | list[str] | None]:
    told = next((asdict(event) for event in history if isinstance(event, StartupComplete)), None)
    names = ("client", "client_version", "library_version", "language", "features")
    return {} if told is None else {name: told[name] for name in names}
