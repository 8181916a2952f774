"""Runs without a broker: folders written by the harness's own writers, with histories that we make up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

import pytest

from harness.model.contract import AnyEvent, Configured, OpComplete, OpInvoke, StartupComplete
from harness.model.evidence import PRODUCER, Evidence
from harness.model.payload import Identity, encode
from harness.model.rows import (
    CaptureRecord,
    Ending,
    FaultRow,
    FaultVerdict,
    Frame,
    FrameKind,
    LogRecord,
    Phases,
    ProducePart,
    RequirementVerdict,
    TrialRecord,
    TrialVerdict,
)
from harness.model.spec import AtTime, ClientRef, FaultSpec, Plan, TrialSpec, Workload
from harness.model.tcp_facts import TcpFact
from harness.model.verdicts import Guarantee
from harness.storage.run_store import RunRecord, RunStore
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
    """A trial in the making: lists that a test may bend before it is written."""

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
        """Append record ``n`` to the log, by default whole and our own."""
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


def full_story(trial: str, **choices: object) -> Story:
    """A whole trial of a well-behaved client: batches a partition, two dropped-response windows, retries.

    Under at-least-once each batch whose answer was dropped lies in the log twice, and the verdict counts it.
    """
    story = new_story(trial, **choices)
    work, dice = story.spec.workload, Random(trial)
    windows = [] if story.spec.scenario == "produce/calm" else [(1_200, 2_300), (3_600, 4_700)]
    story.say(
        StartupComplete,
        LOAD_NS - 900 * MS,
        client=story.spec.client.name,
        client_version=story.spec.client.version,
        language="python",
        features=[],
        contract_version=2,
    )
    applied = {name: (name, value) for name, value in story.spec.config.items()}
    story.say(Configured, LOAD_NS - 800 * MS, id=0, applied=applied, not_set={})
    conn = _Connection(story, windows)
    for first in range(0, work.records, work.records_per_command):
        t_ms = (
            first // work.records_per_command - 2
        ) * work.interval_ms  # the first two chunks warm the client up
        story.say(
            OpInvoke, LOAD_NS + t_ms * MS, op="send", id=first, first=first, count=work.records_per_command
        )
        for partition in range(work.partitions):
            batch = [
                n
                for n in range(first, min(first + work.records_per_command, work.records))
                if n % work.partitions == partition
            ]
            conn.produce(batch, partition, t_ms, dice)
    story.frames.sort(key=lambda frame: frame.t_ns)
    for index, (start, end) in enumerate(windows):
        asked = (LOAD_NS + start * MS, LOAD_NS + end * MS)
        really = (asked[0] + 40 * MS, asked[1] + 25 * MS)
        hits = sum(
            frame.kind is FrameKind.RESPONSE and really[0] <= frame.t_ns < really[1] for frame in story.frames
        )
        spec = FaultSpec("dropped_response", AtTime(start), end - start)
        story.faults.append(FaultRow(index, spec, asked, really, hits))
    extra = len(story.log) - work.records
    story.counts |= {
        "sent": work.records,
        "acked": work.records,
        "in_log": len(story.log),
        "duplicated": extra,
    }
    level = RequirementVerdict("E2E-DEL-01", "MUST", "pass")
    story.requirements = (level, RequirementVerdict("E2E-DEL-02", "MUST", "pass"))
    return story


@dataclass
class _Connection:
    story: Story
    windows: list[tuple[int, int]]
    number: int = 0
    correlation: int = 0

    def produce(self, batch: list[int], partition: int, t_ms: float, dice: Random) -> None:
        """Send a batch, in a window in vain at first: it is answered, the answer dropped, the batch sent again."""
        window = next((w for w in self.windows if w[0] + 40 <= t_ms + 8 < w[1] + 25), None)
        idempotent = self.story.spec.guarantee is Guarantee.IDEMPOTENT
        sent_ms = t_ms + dice.uniform(5, 9)
        stored = self._exchange(batch, partition, sent_ms, dice, append=True)
        done_ms = sent_ms + dice.uniform(2, 12)
        if window:
            done_ms = window[1] + 25 + dice.uniform(100, 220)
            again = self._exchange(batch, partition, done_ms - 5, dice, append=not idempotent)
            stored = again or stored
        self.story.history.append(
            OpComplete(
                seq=0,
                mono_ns=int(LOAD_NS + done_ms * MS),
                wall_ns=0,
                op="send",
                id=batch[0],
                outcome=["ok"] * len(batch),
                error=[None] * len(batch),
                invoke_ns=[LOAD_NS + int(t_ms * MS)] * len(batch),
                complete_ns=[int(LOAD_NS + done_ms * MS)] * len(batch),
                records=batch,
                partition=[partition] * len(batch),
                offset=[record.offset for record in stored] if stored else [-1] * len(batch),
            ),
        )

    def _exchange(
        self, batch: list[int], partition: int, t_ms: float, dice: Random, *, append: bool
    ) -> list[LogRecord]:
        story, t_ns = self.story, int(LOAD_NS + t_ms * MS)
        self.correlation += 1
        base = sum(record.partition == partition for record in story.log)
        stored = (
            [story.store(n, partition, base_offset=base, batch_crc=batch[0] * 8 + partition) for n in batch]
            if append
            else []
        )
        sent = ProducePart(story.topic, partition, -1, -1, -1, len(batch), batch[0] * 8 + partition)
        answer = ProducePart(story.topic, partition, base_offset=base, error_code=0)
        for kind, part, at_ns in (
            (FrameKind.REQUEST, sent, t_ns),
            (FrameKind.RESPONSE, answer, t_ns + int(dice.uniform(0.4, 1.9) * MS)),
        ):
            story.frames.append(
                Frame(
                    t_ns=at_ns,
                    lane=0,
                    broker=1,
                    conn=1 + sum(t_ms > end for _, end in self.windows),
                    kind=kind,
                    size_bytes=len(batch) * 180,
                    api_key=0,
                    api="Produce",
                    api_version=11,
                    correlation_id=self.correlation,
                    client_id="p1",
                    produce=(part,),
                )
            )
        return stored


def write_run(
    folder: Path, stories: Iterable[Story], *, planned: Iterable[TrialSpec] = (), run_id: str = RUN
) -> RunStore:
    """A run of ``stories``, all finished, and of ``planned`` trials that never were."""
    stories = list(stories)
    plan = Plan(seed=7, trials=(*(story.spec for story in stories), *planned))
    record = RunRecord(
        run_id=run_id,
        started_utc="2026-03-01T10:20:30Z",
        plan=plan,
        jobs=2,
        environment={"kafka": "4.3.1", "python": "3.11.2"},
        command=["kafka-trial", "run", "produce/dropped-response", "--seed", "7"],
        stop_reason="completed",
    )
    store = RunStore.create(folder, record)
    for story in stories:
        store.write_evidence(story.evidence(run_id))
        store.write_verdict(story.judgement())
    return store


def random_story(trial: str, dice: Random) -> Story:
    """A trial in which anything may have happened, mostly wrong: for counting, not for judging."""
    story = new_story(trial, acks=dice.choice(["all", "all", "all", "1"]), records=12, keys=3)
    if dice.random() < 0.1:
        story.ending = Ending.HARNESS_ERROR
    numbers = list(range(dice.choice([0, 3, 6, 12])))
    for n in numbers:
        story.send(n, LOAD_NS + n * MS)
    if dice.random() < 0.2:
        window = (LOAD_NS, LOAD_NS + MS)
        effective = window if dice.random() < 0.5 else None
        story.faults.append(FaultRow(0, FaultSpec("topic_growth", AtTime(0), 1), window, effective, 1))
    offsets: dict[int, int] = {}
    for n in dice.sample(numbers, k=dice.choice([len(numbers), len(numbers) // 2])):
        outcome = dice.choice(["ok", "ok", "ok", "fail", "info"])
        partition = dice.randrange(2)
        offsets[partition] = offsets.get(partition, -1) + 1
        story.result(n, LOAD_NS + n * MS, LOAD_NS + (n + 5) * MS, outcome, partition, offsets[partition])
    for _ in range(dice.choice([0, 10, 40])):
        n, partition = dice.randrange(len(numbers) + 2), dice.randrange(2)
        change = dice.choice(
            [_WHOLE, _WHOLE, _WHOLE, _WHOLE, _control, _damaged, _foreign_run, _foreign_producer, _strange]
        )
        story.store(n, partition, **change(story, n))
    return story


def _WHOLE(story: Story, n: int) -> dict[str, object]:  # noqa: N802
    return {}


def _control(story: Story, n: int) -> dict[str, object]:
    return {"control": True, "key": None, "value": None}


def _damaged(story: Story, n: int) -> dict[str, object]:
    return {"value": encode(Identity(RUN, story.topic, PRODUCER, n), 80)[:-1] + "!"}


def _strange(story: Story, n: int) -> dict[str, object]:
    return {"timestamp_ms": 0 if n % 2 else LOAD_WALL_MS + 3_600_000}


def _foreign_run(story: Story, n: int) -> dict[str, object]:
    return {"value": encode(Identity("another", story.topic, PRODUCER, n), 80)}


def _foreign_producer(story: Story, n: int) -> dict[str, object]:
    return {"value": encode(Identity(RUN, story.topic, "p2", n), 80)}


def four_trials(folder: Path) -> tuple[dict[str, Story], RunStore]:
    """Four whole trials: calm, retried by two clients (one of them judged wrongly), and an inconclusive one."""
    idempotent = full_story("idp-reference", guarantee=Guarantee.IDEMPOTENT)
    idempotent.verdict, idempotent.reason = "inconclusive", "the client's process stood still for 4 s"
    tampered = full_story("alo-reference")
    tampered.counts = tampered.counts | {"lost": 3, "duplicated": tampered.counts["duplicated"] - 1}
    stories = [
        full_story("calm", scenario="produce/calm"),
        full_story("alo-confluent", client=CLIENTS[0]),
        tampered,
        idempotent,
    ]
    return {story.spec.trial: story for story in stories}, write_run(folder, stories)


@pytest.fixture
def story() -> Callable[..., Story]:
    return new_story


@pytest.fixture
def whole_story() -> Callable[..., Story]:
    return full_story


@pytest.fixture
def any_story() -> Callable[[str, Random], Story]:
    return random_story


@pytest.fixture(scope="session")
def whole_run() -> Callable[[Path], tuple[dict[str, Story], RunStore]]:
    return four_trials


@pytest.fixture
def run_of(tmp_path: Path) -> Callable[..., RunStore]:
    numbers = count()
    return lambda *stories, **more: write_run(tmp_path / f"runs-{next(numbers)}", stories, **more)


@pytest.fixture(scope="module")
def new_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunStore]:
    """A run of trials of these names, each made by ``make(trial, new_story)``."""

    def run(make: Callable[..., Story], trials: Iterable[str]) -> RunStore:
        return write_run(tmp_path_factory.mktemp("run"), [make(trial, new_story) for trial in trials])

    return run
