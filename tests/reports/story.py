"""The builder of a trial without a broker: a client's events, the frames, and the log."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.model.contract import AnyEvent, OpComplete, OpInvoke
from harness.model.evidence import PRODUCER, Evidence
from harness.model.payload import Identity, encode
from harness.model.rows import (
    Availability,
    CaptureRecord,
    Ending,
    FaultRow,
    FaultVerdict,
    Frame,
    LogRecord,
    Phases,
    RequirementVerdict,
    TrialRecord,
    TrialVerdict,
)
from harness.model.spec import ClientRef, TrialSpec, Workload
from harness.model.tcp_facts import TcpFact
from harness.model.verdicts import Guarantee
from harness.workloads.produce.profile import producer_config
from harness.workloads.produce.tables import MEANING

MS = 1_000_000
LOAD_NS = 50_000_000_000
#: The wall clock when load begins.
LOAD_WALL_MS = 1_700_000_000_000
RUN = "run-1"

CLIENTS = (ClientRef("confluent-kafka", "2.3.0"), ClientRef("reference", "0.1.0"))


@dataclass
class Story:
    """A trial under construction: lists that a test may change before they are written."""

    spec: TrialSpec
    topic: str
    history: list[AnyEvent] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    faults: list[FaultRow] = field(default_factory=list)
    log: list[LogRecord] = field(default_factory=list)
    tcp: list[TcpFact] = field(default_factory=list)
    capture: CaptureRecord | None = None
    ending: Ending = Ending.COMPLETE
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MEANING, 0))
    availability: Availability = field(default_factory=Availability)
    requirements: tuple[RequirementVerdict, ...] = ()
    verdict: str = "pass"
    reason: str = "nothing was lost"

    def say(self, kind: type[AnyEvent], t_ns: int, **values: object) -> None:
        wall_ns = LOAD_WALL_MS * MS + t_ns - LOAD_NS
        self.history.append(kind(seq=len(self.history), mono_ns=t_ns, wall_ns=wall_ns, **values))

    def send(self, n: int, t_ns: int) -> None:
        self.say(OpInvoke, t_ns, op="send", id=n, first=n, count=1)

    def result(
        self, n: int, invoke_ns: int, complete_ns: int, outcome: str, partition: int = -1, offset: int = -1
    ) -> None:
        self.say(
            OpComplete,
            complete_ns,
            op="send",
            id=n,
            outcome=[outcome],
            error=[None if outcome == "ok" else "TIMED_OUT"],
            invoke_ns=[invoke_ns],
            complete_ns=[complete_ns],
            records=[n],
            partition=[partition],
            offset=[offset],
        )

    def store(self, n: int, partition: int, **changes: object) -> LogRecord:
        """Append record ``n`` to the log, by default intact and from this trial."""
        offset = sum(record.partition == partition for record in self.log)
        values: dict[str, object] = {
            "topic": self.topic,
            "partition": partition,
            "offset": offset,
            "base_offset": offset,
            "timestamp_ms": LOAD_WALL_MS + n,
            "producer_id": 7,
            "producer_epoch": 0,
            "sequence": offset,
            "control": False,
            "crc_ok": True,
            "key": f"k{n % self.spec.workload.keys}",
            "value": encode(Identity(RUN, self.topic, PRODUCER, n), self.spec.workload.value_bytes),
        }
        record = LogRecord(**(values | changes))
        self.log.append(record)
        return record

    def evidence(self, run_id: str = RUN) -> Evidence:
        phases = Phases(LOAD_NS, LOAD_NS + 6_000 * MS, LOAD_NS + 8_000 * MS, LOAD_NS + 9_000 * MS)
        record = TrialRecord(
            spec=self.spec,
            run_id=run_id,
            topic=self.topic,
            lane=0,
            phases=phases,
            ending=self.ending,
            client={
                "client_version": self.spec.client.version,
                "language": "python",
                "features": ["idempotence"],
            },
            not_set={"max.block.ms": "librdkafka has no such setting"},
            capture=self.capture,
        )
        rows = map(tuple, (self.history, self.frames, self.faults, self.log))
        return Evidence(record, *rows, tcp=tuple(self.tcp))

    def judgement(self) -> TrialVerdict:
        spec = self.spec
        return TrialVerdict(
            trial=spec.trial,
            client=str(spec.client),
            broker=spec.broker,
            scenario=spec.scenario,
            guarantee=spec.guarantee.value,
            seed=spec.seed,
            verdict=self.verdict,
            reason=self.reason,
            requirements=self.requirements,
            faults=tuple(
                FaultVerdict(row.spec.kind, row.requested_ns, row.effective_ns, row.hits)
                for row in self.faults
            ),
            counts=self.counts,
            availability=self.availability,
        )


def new_story(
    trial: str,
    *,
    client: ClientRef = CLIENTS[1],
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE,
    scenario: str = "produce/dropped-response",
    seed: int = 7,
    records: int = 2_400,
    keys: int = 40,
    acks: str = "all",
) -> Story:
    spec = TrialSpec(
        trial=trial,
        client=client,
        broker="local:4.3.1x1",
        scenario=scenario,
        guarantee=guarantee,
        seed=seed,
        workload=Workload(
            records, records_per_command=20, interval_ms=50, partitions=3, keys=keys, value_bytes=160
        ),
        faults=(),
        config=producer_config(guarantee, {"compression.type": "zstd", "acks": acks}),
    )
    return Story(spec, topic=f"t-{trial}")
