"""Draw plans from dice: every kind of request and fault, including the sequences of several producers.

A producer's sequences assume that every valid batch is appended. If a topic's settings or a fault prevent that, the
following batches are out of order on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from harness.brokers.scripted.releases import release
from harness.model.dice import Dice
from harness.wire.apis import Api
from harness.wire.records import increment_sequence
from testkit.fidelity import steps as s
from testkit.fidelity.targets import LEADER

T = TypeVar("T")
_HOUR_MS, _DAY_MS = 3_600_000, 86_400_000
_LAST_SEQUENCE: Final = 2**31 - 1
_CODECS: Final = ("NONE", "NONE", "NONE", "GZIP", "SNAPPY", "LZ4", "ZSTD")
_AGES_MS: Final = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3 * _DAY_MS, -2 * _HOUR_MS, -30 * _DAY_MS, None)
_CONFIGS: Final[Sequence[tuple[str, str]]] = (
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "compact,delete"),
    ("message.timestamp.type", "LogAppendTime"),
    ("max.message.bytes", "700"),
    ("message.timestamp.before.max.ms", str(_DAY_MS)),
    ("message.timestamp.after.max.ms", str(_DAY_MS)),
    ("min.insync.replicas", "2"),
    ("segment.bytes", "1048576"),
)
_CHANGES: Final[Sequence[tuple[str, str]]] = (
    ("max.message.bytes", "300"),
    ("max.message.bytes", "1048588"),
    ("min.insync.replicas", "3"),
    ("min.insync.replicas", "1"),
    ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "CreateTime"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "delete"),
)
_UNKNOWN_TOPIC: Final = "nowhere"
_BAD_NAMES: Final = ("a b", "..", "x" * 250, "")


@dataclass(slots=True)
class _Sequences:
    """The batches of one producer for one partition, as drawn so far."""

    epoch: int
    next: int
    sent: list[s.BatchSpec]


def draw(seed: int, version: str, nodes: int, length: int = 25) -> s.FidelityPlan:
    """Return the plan of a seed for brokers of a version."""
    return _Drawing(seed, version, nodes).plan(length)


def draw_outage(seed: int, version: str, nodes: int, length: int = 60) -> s.FidelityPlan:
    """Return a longer plan in which a node stops and restarts. With one node, none is up for a moment."""
    return _Drawing(seed, version, nodes).outage(length)


class _Drawing:
    def __init__(self, seed: int, version: str, nodes: int) -> None:
        self.dice = Dice(seed, f"fidelity/{version}x{nodes}")
        self.seed = seed
        self.nodes = nodes
        self.ranges = release(version).ranges
        labels = ["a", "b"][: self.dice.between(1, 2)]
        self.topics = [s.TopicSpec(label, self.dice.between(1, 3), self.config()) for label in labels]
        self.partitions = {topic.label: topic.partitions for topic in self.topics}
        self.producers = self.dice.between(1, 3)
        self.known: dict[tuple[int, str, int], _Sequences] = {}
        self.tags = 0

    def plan(self, length: int) -> s.FidelityPlan:
        name = f"fidelity-{self.seed}-{self.nodes}"
        steps: list[s.Step] = [s.InitProducerId(4, index) for index in range(self.producers)]
        while len(steps) < length:
            steps += self.some()
        return s.FidelityPlan(name, self.nodes, tuple(self.topics), tuple(steps))

    def outage(self, length: int) -> s.FidelityPlan:
        """Put a third of the steps before the outage, a third during it and a third after it."""
        self.topics = [
            s.TopicSpec("a", 3),
            s.TopicSpec("b", 3, {"min.insync.replicas": "3"}),
            s.TopicSpec("c", 3, {"message.timestamp.type": "LogAppendTime"}),
        ]
        self.partitions = {topic.label: topic.partitions for topic in self.topics}
        node = 1 if self.nodes == 1 else self.dice.between(2, self.nodes)
        steps: list[s.Step] = [s.InitProducerId(4, index) for index in range(self.producers)]
        events: list[list[s.Step]] = [[s.Stop(node, hard=self.nodes == 1 or self.one_in(2))], [s.Start(node)]]
        if self.nodes == 1:
            events = [[s.Stop(node), s.Start(node)], []]
        for event in (*events, []):
            for _ in range(length // 3):
                steps += self.produces() if not self.one_in(6) else self.metadata()
            steps += event
            steps.append(s.Metadata(9, ("a", "b", "c")))
        return s.FidelityPlan(f"fidelity-outage-{self.seed}", self.nodes, tuple(self.topics), tuple(steps))

    def config(self) -> dict[str, str]:
        return dict(self.dice.choice(_CONFIGS) for _ in range(self.dice.choice((0, 0, 0, 1, 2))))

    def one_in(self, n: int) -> bool:
        return self.dice.between(1, n) == 1

    def some(self) -> list[s.Step]:
        kinds: tuple[tuple[int, Callable[[], list[s.Step]]], ...] = (
            (60, self.produces),
            (4, self.rows_of_batches),
            (6, self.metadata),
            (2, self.api_versions),
            (4, self.init_producer_id),
            (3, self.find_coordinator),
            (9, self.fault),
        )
        at = self.dice.between(1, sum(weight for weight, _ in kinds))
        for weight, kind in kinds:
            at -= weight
            if at <= 0:
                return kind()
        raise AssertionError

    # Requests

    def version(self, api: Api, low: int) -> int:
        """Return a supported version, or occasionally the one above."""
        high = self.ranges[api][1]
        if self.one_in(25):
            return min(high + 1, s.HIGHEST[api])
        return self.dice.between(low, high)

    def api_versions(self) -> list[s.Step]:
        version = self.dice.choice((0, 1, 2, 3, 4, 5, 99))
        if self.one_in(3):
            bad = self.dice.choice(("", "a b", "-x", "x-", "é", "ok.1-2"))
            return [s.ApiVersions(version, bad, self.dice.choice(("1.0", "", "1_0")), self.node())]
        return [s.ApiVersions(version, node=self.node())]

    def metadata(self) -> list[s.Step]:
        version = self.version(Api.METADATA, 0)
        kind = self.dice.between(1, 6)
        if kind == 1:
            return [s.Metadata(version, None, node=self.node())]
        labels = [self.label(unknown=5) for _ in range(self.dice.between(0 if version else 1, 3))]
        if kind == 2 and version >= 10:
            return [s.Metadata(version, tuple(labels), by_id=True, node=self.node())]
        if self.one_in(4):
            labels.append(self.dice.choice(_BAD_NAMES))
        return [s.Metadata(version, tuple(labels), node=self.node())]

    def init_producer_id(self) -> list[s.Step]:
        version = self.version(Api.INIT_PRODUCER_ID, 0)
        tid = self.dice.choice((None, None, "t", "u", ""))
        timeout_ms = self.dice.choice((60_000, 60_000, 900_001, 0, -1))
        expected = None
        if version >= 3 and self.one_in(2):
            expected = (self.dice.between(0, 12), self.dice.choice((0, 0, 1, 2, -1)))
        producer = 10 if tid == "t" else 11 if tid == "u" else 12
        at_coordinator = not self.one_in(6)
        return [s.InitProducerId(version, producer, tid, timeout_ms, expected, at_coordinator)]

    def find_coordinator(self) -> list[s.Step]:
        version = self.version(Api.FIND_COORDINATOR, 0)
        keys = [
            f"group{self.dice.between(0, 9)}" for _ in range(1 if version < 4 else self.dice.between(1, 3))
        ]
        if self.one_in(6):
            keys[0] = ""
        key_type = self.dice.choice((0, 0, 1, 1, 5, -1)) if version else 0
        return [s.FindCoordinator(version, tuple(dict.fromkeys(keys)), key_type, self.node())]

    def produces(self) -> list[s.Step]:
        version = self.version(Api.PRODUCE, 3)
        parts = [
            part for part in self.parts() if version >= 7 or part.batch.defect is not s.Defect.UNKNOWN_CODEC
        ]
        if not parts:
            return []
        acks = self.dice.choice((-1, -1, -1, -1, -1, -1, 1, 1, 0, 2, -2) if self.one_in(2) else (-1,))
        node = LEADER if self.nodes == 1 or not self.one_in(8) else self.dice.between(1, self.nodes)
        tid = "t" if self.one_in(40) else None
        if tid is None and self.one_in(40):
            batch = replace(parts[0].batch, transactional=True)
            parts = [replace(parts[0], batch=batch), *parts[1:]]
        return [s.Produce(version, acks, tuple(parts), node=node, transactional_id=tid)]

    def rows_of_batches(self) -> list[s.Step]:
        """Write several batches in a row and repeat the last ones, since a broker remembers five of them."""
        label = self.dice.choice(self.topics).label
        index = self.dice.between(0, self.partitions[label] - 1)
        producer = self.dice.between(0, self.producers - 1)
        known = self.known.setdefault((producer, label, index), _Sequences(0, 0, []))
        known.epoch, known.next, known.sent = known.epoch + 1, 0, []
        for _ in range(self.dice.between(3, 8)):
            self.tags += 1
            spec = s.BatchSpec(f"{self.seed}.{self.tags}", self.dice.between(1, 3), producer=producer)
            known.sent.append(replace(spec, epoch=known.epoch, sequence=known.next))
            known.next += spec.count
        again = [self.dice.choice(known.sent[-6:]) for _ in range(3)]
        version = self.dice.between(3, self.ranges[Api.PRODUCE][1])
        return [s.Produce(version, -1, (s.Part(label, index, batch),)) for batch in (*known.sent, *again)]

    def parts(self) -> list[s.Part]:
        parts: list[s.Part] = []
        for _ in range(self.dice.choice((1, 1, 1, 2, 3))):
            label = self.label(unknown=20)
            count = self.partitions.get(label, 1)
            index = (
                self.dice.between(0, count - 1) if not self.one_in(30) else self.dice.choice((count, -1, 99))
            )
            part = s.Part(label, index, self.batch(label, index))
            if all((other.topic, other.partition) != (label, index) for other in parts) or self.one_in(3):
                parts.append(part)
        return parts

    # Batches

    def batch(self, label: str, index: int) -> s.BatchSpec:
        self.tags += 1
        spec = s.BatchSpec(
            tag=f"{self.seed}.{self.tags}",
            count=self.dice.choice((1, 1, 2, 3, 10)),
            codec=self.dice.choice(_CODECS),
            size_bytes=self.dice.choice((12, 12, 12, 40, 400)),
            age_ms=self.dice.choice(_AGES_MS),
        )
        if self.one_in(150):
            spec = replace(spec, count=1, codec="NONE", size_bytes=self.dice.choice((1_048_000, 1_100_000)))
        if self.one_in(6):
            null = tuple(i for i in range(spec.count) if self.one_in(2))
            spec = replace(spec, null_keys=null)
        if self.one_in(5):
            spec = replace(spec, defect=self.dice.choice(tuple(s.Defect)))
        if self.one_in(3):
            return spec
        return self.idempotent(spec, self.dice.between(0, self.producers - 1), label, index)

    def idempotent(self, spec: s.BatchSpec, producer: int, label: str, index: int) -> s.BatchSpec:
        known = self.known.get((producer, label, index))
        if known is None:
            first = self.dice.choice((0, 0, 0, 5, _LAST_SEQUENCE - 3, _LAST_SEQUENCE))
            known = self.known[producer, label, index] = _Sequences(0, first, [])
        right = replace(spec, producer=producer, epoch=known.epoch, sequence=known.next)
        match self.dice.between(1, 20):
            case 1 | 2 | 3 if known.sent:
                return self.dice.choice(known.sent[-7:])
            case 4:
                return replace(right, sequence=increment_sequence(known.next, self.dice.between(1, 5)))
            case 5:
                return replace(right, sequence=increment_sequence(known.next, -self.dice.between(1, 5)))
            case 6 if known.epoch:
                return replace(right, epoch=known.epoch - 1)
            case 7:
                return replace(right, epoch=known.epoch + 1, sequence=self.dice.choice((0, 1, known.next)))
            case 8 if known.sent:
                last = known.sent[-1]
                return replace(right, sequence=last.sequence, count=last.count + 1)
            case 9:
                known.epoch += 1
                known.next = 0
                right = replace(right, epoch=known.epoch, sequence=0)
        if right.defect is s.Defect.WHOLE:
            known.next = increment_sequence(right.sequence, right.count)
            known.sent.append(right)
        return right

    # Faults

    def fault(self) -> list[s.Step]:
        topic = self.dice.choice(self.topics).label
        index = self.dice.between(0, self.partitions[topic] - 1)
        match self.dice.between(1, 9 if self.nodes == 1 else 14):
            case 1:
                asked = s.Metadata(self.dice.between(9, 12), (topic,), node=self.node())
                return [
                    s.DeleteTopic(topic),
                    asked,
                    *self.produces(),
                    *self.produces(),
                    s.RecreateTopic(topic),
                ]
            case 2 | 3:
                return [s.RecreateTopic(topic), *self.produces()]
            case 4 if self.partitions[topic] < 5:
                self.partitions[topic] += self.dice.between(1, 2)
                return [s.AddPartitions(topic, self.partitions[topic])]
            case 5 | 6:
                return [s.Trim(topic, index, self.dice.choice((-1, -1, 1, 3)))]
            case 10 | 11 | 12:
                return [s.MoveLeader(topic, index, self.dice.between(1, self.nodes)), *self.produces()]
            case 13:
                return self.pause(topic, index)
            case _:
                name, value = self.dice.choice(_CHANGES)
                return [s.AlterConfig(topic, name, value)]

    def pause(self, topic: str, index: int) -> list[s.Step]:
        """Pause a follower: acks=all reaches the request's timeout, acks=1 does not."""
        leader = self.dice.between(1, self.nodes)
        part = s.Part(topic, index, self.batch(topic, index))
        return [
            s.MoveLeader(topic, index, leader),
            s.Pause(leader % self.nodes + 1),
            s.Produce(9, self.dice.choice((-1, -1, 1)), (part,), timeout_ms=300, node=leader),
            s.Resume(leader % self.nodes + 1),
        ]

    # Helpers

    def label(self, unknown: int) -> str:
        return _UNKNOWN_TOPIC if self.one_in(unknown) else self.dice.choice(self.topics).label

    def node(self) -> int:
        return self.dice.between(1, self.nodes)
