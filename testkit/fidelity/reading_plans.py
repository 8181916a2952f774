"""Draw plans that fill logs and read them: in and out of fetch sessions, by time, by leader epoch, within transactions.

The drawing follows the logs' ends and the leaders, so that most offsets exist, and that no request asks a follower for
records: how far a follower has copied its leader's high watermark is a matter of time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from harness.wire.apis import Api
from testkit.fidelity import reading_steps as r
from testkit.fidelity import steps as s
from testkit.fidelity.drawing import Drawing
from testkit.fidelity.targets import LEADER, LONG_WAIT_MS, NOT_LEADER

_HOUR_MS, _DAY_MS = 3_600_000, 86_400_000
_NOWHERE: Final = "nowhere"
#: From this version on, followers answer consumers (KIP-392).
_FOLLOWERS_FROM_VERSION: Final = 11
_SESSIONS_FROM_VERSION: Final = 7
#: The lowest version that kio can encode.
_LOWEST_FETCH, _LOWEST_LIST, _LOWEST_EPOCH, _LOWEST_PRODUCE = 4, 1, 2, 7
_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL, _LATEST_TIERED, _PENDING = range(-1, -7, -1)

Place = tuple[str, int]


@dataclass(slots=True)
class _Session:
    """A session as it was drawn: the version of its requests, and what it reads."""

    version: int
    parts: dict[Place, r.FetchPart] = field(default_factory=dict)


def draw(seed: int, version: str, nodes: int, length: int = 40) -> s.FidelityPlan:
    """Return the plan of a seed for brokers of a version."""
    return _ReadingDrawing(seed, version, nodes).plan(length)


class _ReadingDrawing(Drawing):
    def __init__(self, seed: int, version: str, nodes: int) -> None:
        super().__init__("reading", seed, version, nodes)
        labels = ["a", "b"][: self.dice.between(1, 2)]
        self.topics = [s.TopicSpec(label, self.dice.between(1, 3)) for label in labels]
        self.ends: dict[Place, int] = {
            (topic.label, index): 0 for topic in self.topics for index in range(topic.partitions)
        }
        self.leaders: dict[Place, int] = {place: place[1] % nodes + 1 for place in self.ends}
        self.epochs: dict[Place, int] = dict.fromkeys(self.ends, 0)
        self.sessions: dict[str, _Session] = {}
        self.open: list[str] = []
        self.touched: dict[str, set[Place]] = {}
        self.transactions = self.tags = 0

    def plan(self, length: int) -> s.FidelityPlan:
        steps: list[s.Step] = []
        for place in self.ends:
            steps += self.produce(place)
        while len(steps) < length:
            steps += self.some(
                (
                    (18, self.produces),
                    (14, self.fetches),
                    (22, self.session_steps),
                    (6, self.waits),
                    (12, self.lists),
                    (8, self.asks_epochs),
                    (12, self.transacts),
                    (4, self.faults),
                )
            )
        return s.FidelityPlan(
            f"reading-{self.seed}-{self.nodes}", self.nodes, tuple(self.topics), tuple(steps)
        )

    # Filling

    def place(self) -> Place:
        return self.dice.choice(tuple(self.ends))

    def produce(self, place: Place) -> list[s.Step]:
        self.tags += 1
        batch = s.BatchSpec(
            tag=f"{self.seed}.{self.tags}",
            count=self.dice.choice((1, 1, 2, 3, 10)),
            codec=self.dice.choice(("NONE", "NONE", "GZIP", "LZ4", "ZSTD")),
            size_bytes=self.dice.choice((12, 40, 400)),
            age_ms=self.dice.choice((0, 0, _HOUR_MS, 3 * _HOUR_MS, _DAY_MS, None)),
        )
        self.ends[place] += batch.count
        version = self.dice.between(_LOWEST_PRODUCE, self.ranges[Api.PRODUCE][1])
        return [s.Produce(version, -1, (s.Part(*place, batch),))]

    def produces(self) -> list[s.Step]:
        place = self.place()
        return [step for _ in range(self.dice.between(1, 3)) for step in self.produce(place)]

    def transacts(self) -> list[s.Step]:
        if self.open and self.one_in(2):
            transaction = self.dice.choice(self.open)
            self.open.remove(transaction)
            for place in self.touched.pop(transaction):
                self.ends[place] += 1
            return [r.EndTransaction(transaction, commit=self.one_in(3))]
        if self.open and self.one_in(2):
            transaction = self.dice.choice(self.open)
        else:
            self.transactions += 1
            transaction = f"t{self.transactions}"
            self.open.append(transaction)
        steps: list[s.Step] = []
        for _ in range(self.dice.between(1, 2)):
            place, count = self.place(), self.dice.between(1, 3)
            self.tags += 1
            self.ends[place] += count
            self.touched.setdefault(transaction, set()).add(place)
            steps.append(r.Transact(transaction, *place, count, f"{self.seed}.{self.tags}"))
        return steps

    # Fetching

    def offset(self, place: Place) -> int:
        end = self.ends[place]
        if self.one_in(12):
            return self.dice.choice((-1, end + 1, end + 5))
        return self.dice.choice((0, 0, end, self.dice.between(0, end)))

    def epoch(self, place: Place) -> int:
        if self.one_in(5):
            return self.dice.choice((0, 1, 2, self.epochs[place]))
        return self.dice.choice((-1, self.epochs[place]))

    def fetch_part(self, place: Place, version: int) -> r.FetchPart:
        last = -1
        if version >= 12 and self.one_in(6):
            last = self.dice.choice((0, self.epochs[place], self.epochs[place] + 1))
        return r.FetchPart(
            *place,
            self.offset(place),
            self.dice.choice((1, 100, 300, 1_000, 1_048_576, 1_048_576)),
            self.epoch(place),
            last,
        )

    def places(self, version: int, node: int = LEADER) -> list[Place]:
        """Draw partitions with the same leader, if followers would answer too. Some do not exist."""
        found = [self.place() for _ in range(self.dice.choice((1, 2, 3)))]
        found = list(dict.fromkeys(found))
        if version >= _FOLLOWERS_FROM_VERSION:
            found = [each for each in found if self.leaders[each] == self.leaders[found[0]]]
        return found

    def unknown(self) -> list[r.FetchPart]:
        """Draw a partition or a topic that does not exist."""
        if not self.one_in(8):
            return []
        label = self.dice.choice(self.topics).label
        return [
            self.dice.choice(
                (r.FetchPart(_NOWHERE, 0, 0), r.FetchPart(label, 9, 0), r.FetchPart(label, -1, 0))
            )
        ]

    def limits(self) -> dict[str, Any]:
        return {
            "min_bytes": self.dice.choice((0, 1, 1, 500, 100_000)),
            "max_bytes": self.dice.choice((1, 200, 1_000, 50_000_000, 50_000_000)),
            "max_wait_ms": self.dice.choice((0, 0, 0, 40)),
        }

    def fetches(self) -> list[s.Step]:
        version = self.version(Api.FETCH, _LOWEST_FETCH)
        is_elsewhere = version < _FOLLOWERS_FROM_VERSION and self.nodes > 1 and self.one_in(6)
        parts = [self.fetch_part(place, version) for place in self.places(version)] + self.unknown()
        if self.one_in(2):
            parts = [parts[0], *reversed(parts[1:])]
        return [
            r.Fetch(
                version,
                tuple(parts),
                committed=self.one_in(2),
                node=NOT_LEADER if is_elsewhere else LEADER,
                **self.limits(),
            )
        ]

    def waits(self) -> list[s.Step]:
        """Let a Fetch wait for records, and write some."""
        version = self.version(Api.FETCH, _LOWEST_FETCH)
        place = self.place()
        part = r.FetchPart(*place, self.ends[place])
        steps: list[s.Step] = [
            r.Fetch(
                version,
                (part,),
                min_bytes=self.dice.choice((1, 1, 150, 600)),
                max_wait_ms=LONG_WAIT_MS,
                committed=self.one_in(3),
            )
        ]
        for _ in range(self.dice.between(1, 3)):
            steps += self.produce(place if not self.one_in(4) else self.place())
        if self.one_in(4):
            steps.insert(2, self.fault_at(place))
        return steps

    # Sessions

    def session_steps(self) -> list[s.Step]:
        label = self.dice.choice(("s1", "s2"))
        known = self.sessions.get(label)
        if known is None or self.one_in(12):
            return self.begins(label, known)
        return self.continues(label, known)

    def session_version(self) -> int:
        return self.dice.between(_SESSIONS_FROM_VERSION, self.ranges[Api.FETCH][1])

    def begins(self, label: str, known: _Session | None) -> list[s.Step]:
        version = self.session_version()
        parts = [
            self.fetch_part(each, version) for each in self.places(_FOLLOWERS_FROM_VERSION)
        ] + self.unknown()
        renew = known is not None and self.one_in(2)
        self.sessions[label] = _Session(version, {(each.topic, each.partition): each for each in parts})
        kind = r.SessionEpoch.RENEW if renew else r.SessionEpoch.BEGIN
        return [r.Fetch(version, tuple(parts), session=label, session_epoch=kind, committed=self.one_in(3))]

    def continues(self, label: str, known: _Session) -> list[s.Step]:
        version = known.version if not self.one_in(25) else self.session_version()
        if self.one_in(9):
            kind = self.dice.choice(
                (
                    r.SessionEpoch.REPEATED,
                    r.SessionEpoch.SKIPPED,
                    r.SessionEpoch.UNKNOWN_ID,
                    r.SessionEpoch.CLOSE,
                )
            )
            if kind is r.SessionEpoch.CLOSE:
                del self.sessions[label]
            return [r.Fetch(version, tuple(known.parts.values())[:1], session=label, session_epoch=kind)]
        first = next(iter(known.parts), None)
        places = [
            each
            for each in self.places(_FOLLOWERS_FROM_VERSION)
            if first is None or first not in self.leaders or self.leaders[each] == self.leaders[first]
        ]
        parts = [self.fetch_part(each, version) for each in places] if not self.one_in(3) else []
        forgotten: list[Place] = []
        if self.one_in(5):
            forgotten = [each for each in known.parts if self.one_in(2) and each not in places]
            if self.one_in(5):
                forgotten.append(self.place())
        for each in parts:
            known.parts[each.topic, each.partition] = each
        for place in forgotten:
            known.parts.pop(place, None)
        return [
            r.Fetch(
                version,
                tuple(parts),
                session=label,
                session_epoch=r.SessionEpoch.NEXT,
                forgotten=tuple(forgotten),
                committed=self.one_in(3),
                node=self.leaders.get(first, LEADER) if first is not None else LEADER,
                **self.limits(),
            )
        ]

    # Offsets

    def lists(self) -> list[s.Step]:
        version = self.version(Api.LIST_OFFSETS, _LOWEST_LIST)
        parts = []
        for place in self.places(_FOLLOWERS_FROM_VERSION):
            timestamp_ms = self.dice.choice(
                (
                    _LATEST,
                    _EARLIEST,
                    _MAX_TIMESTAMP,
                    self.dice.choice((_EARLIEST_LOCAL, _LATEST_TIERED, _PENDING, -7)),
                    self.dice.choice((0, _HOUR_MS, 2 * _HOUR_MS, 3 * _HOUR_MS, _DAY_MS, 2 * _DAY_MS)),
                )
            )
            parts.append(r.OffsetAsked(*place, timestamp_ms, self.epoch(place) if version >= 4 else -1))
        if self.one_in(10):
            parts.append(
                self.dice.choice((r.OffsetAsked(_NOWHERE, 0, _LATEST), r.OffsetAsked(parts[0].topic, 9, -1)))
            )
        if self.one_in(20):
            parts.append(parts[0])
        node = NOT_LEADER if self.nodes > 1 and self.one_in(6) else LEADER
        return [r.ListOffsets(version, tuple(parts), committed=version >= 2 and self.one_in(2), node=node)]

    def asks_epochs(self) -> list[s.Step]:
        version = self.version(Api.OFFSET_FOR_LEADER_EPOCH, _LOWEST_EPOCH)
        parts = [
            r.EpochAsked(
                *place,
                self.dice.choice((-1, 0, 0, self.epochs[place], self.epochs[place] + 1, 7)),
                self.epoch(place),
            )
            for place in self.places(_FOLLOWERS_FROM_VERSION)
        ]
        if self.one_in(10):
            parts.append(self.dice.choice((r.EpochAsked(_NOWHERE, 0, 0), r.EpochAsked(parts[0].topic, 9, 0))))
        node = NOT_LEADER if self.nodes > 1 and self.one_in(6) else LEADER
        return [r.OffsetForLeaderEpoch(version, tuple(parts), node)]

    # Faults

    def faults(self) -> list[s.Step]:
        return [self.fault_at(self.place())]

    def fault_at(self, place: Place) -> s.Step:
        label, index = place
        match self.dice.between(1, 8 if self.nodes > 1 else 5):
            case 1 | 2 | 3:
                return s.Trim(
                    label, index, self.dice.choice((-1, 1, 3, self.dice.between(0, self.ends[place])))
                )
            case 4 if not self.open:
                for each in self.ends:
                    if each[0] == label:
                        self.ends[each], self.epochs[each] = 0, 0
                        self.leaders[each] = each[1] % self.nodes + 1
                return s.RecreateTopic(label)
            case 6 | 7 | 8:
                node = self.dice.between(1, self.nodes)
                self.epochs[place] += node != self.leaders[place]
                self.leaders[place] = node
                return s.MoveLeader(label, index, node)
            case _:
                return s.Metadata(9, (label,))
