"""Draw plans of transactional producers: two transactional ids with two producers each, two topics and two groups.

The producers of one id replace each other, so that one of them is usually a zombie. A producer's steps follow the usual
order of a transaction often enough to get through it. Everything else is drawn without regard to the state: ends
without a transaction, batches for partitions that were not added, epochs that are too old or too new. A plan has one
protocol: that of clients before KIP-890, that of clients since then, or both in turn.

No batch is drawn that a partition would accept with an epoch that the coordinator never gave: the end marker would be
refused, and the transaction would stay prepared.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.brokers.scripted.releases import release
from harness.wire.apis import Api
from testkit.fidelity import group_steps as g
from testkit.fidelity import reading_steps as r
from testkit.fidelity import steps as s
from testkit.fidelity import transaction_steps as t
from testkit.fidelity.classic_plans import OffsetDrawing

_NOWHERE: Final = "nowhere"
_LOWEST_PRODUCE: Final = 7
#: The highest version of clients before KIP-890.
_OLD: Final = {Api.PRODUCE: 11, Api.END_TXN: 4, Api.TXN_OFFSET_COMMIT: 4}
_HIGHEST_ADD_OF_CLIENTS: Final = 3
_LOWEST_STABLE_FETCH: Final = 7
_MEMBERS_FROM_VERSION: Final = 3
_LOWEST_FETCH, _LOWEST_COMMITTED_LIST, _LATEST = 4, 2, -1


def draw(seed: int, version: str, nodes: int, length: int = 50) -> s.FidelityPlan:
    """Return the plan of a seed for brokers of a version."""
    return _TransactionDrawing(seed, version, nodes).plan(length)


class _TransactionDrawing(OffsetDrawing):
    def __init__(self, seed: int, version: str, nodes: int) -> None:
        super().__init__("transactions", seed, version, nodes)
        self.protocol = self.dice.choice(("old", "new", "new", "both"))
        self.tags = 0
        self.verifies_epochs = release(version).verifies_epochs
        #: The producer of each transactional id that was initialized last.
        self.current: dict[str, str] = {}

    def plan(self, length: int) -> s.FidelityPlan:
        steps: list[s.Step] = []
        for producer in ("x1", "x2", "y1") if self.one_in(2) else ("x1", "y1"):
            steps.append(t.InitTransactions(4, producer[0], producer))
            self.current[producer[0]] = producer
        if self.one_in(2):
            steps.append(g.JoinGroup(5, "g1", "m1", member_id=g.NO_ID))
            steps += [g.JoinGroup(5, "g1", "m1"), g.SyncGroup(3, "g1", "m1")]
        elif Api.CONSUMER_GROUP_HEARTBEAT in self.ranges and self.one_in(2):
            beat = partial(g.ConsumerGroupHeartbeat, 1, "g1", "m1", rebalance_timeout_ms=300_000)
            steps.append(beat(epoch=0, topics=("a", "b"), owned="nothing"))
        while len(steps) < length:
            steps += self.some(
                (
                    (24, self.transacts),
                    (12, self.produces),
                    (8, self.adds),
                    (10, self.finishes),
                    (6, lambda: self.inits(self.transactional_id())),
                    (4, self.adds_group),
                    (8, self.commits),
                    (8, self.fetches),
                    (3, self.commits_plainly),
                    (8, self.reads),
                    (2, self.faults),
                )
            )
        return s.FidelityPlan(f"transactions-{self.seed}-{self.nodes}", self.nodes, self.topics, tuple(steps))

    # What every step has

    def transactional_id(self) -> str:
        return self.dice.choice(("x", "x", "y"))

    def producer(self, transactional_id: str) -> str:
        """Draw the producer that was initialized last, or occasionally the other one."""
        if self.one_in(5):
            return transactional_id + self.dice.choice(("1", "2"))
        return self.current.get(transactional_id, transactional_id + "1")

    def ahead(self) -> int:
        return self.dice.choice((-1, 1, 2)) if self.one_in(12) else 0

    def is_old(self) -> bool:
        return self.protocol == "old" or (self.protocol == "both" and self.one_in(2))

    def drawn(self, api: Api, low: int = 0, *, old: bool) -> int:
        """Draw a version of clients before or since KIP-890."""
        highest = self.ranges[api][1]
        border = _OLD[api]
        if old or highest <= border:
            return self.dice.between(low, min(border, highest))
        return self.dice.between(border + 1, highest)

    def place(self) -> tuple[str, int]:
        if self.one_in(25):
            return self.dice.choice(((_NOWHERE, 0), ("b", 5)))
        return self.dice.choice((("a", 0), ("a", 1), ("a", 2), ("b", 0)))

    # Steps

    def inits(self, transactional_id: str) -> list[s.Step]:
        producer = transactional_id + self.dice.choice(("1", "2"))
        version = self.dice.between(0, self.ranges[Api.INIT_PRODUCER_ID][1])
        continues = version >= 3 and self.one_in(2)
        if continues:
            producer = self.producer(transactional_id)
        self.current[transactional_id] = producer
        step = t.InitTransactions(
            version,
            transactional_id if not self.one_in(40) else "",
            producer,
            continues,
            self.ahead() if continues else 0,
            timeout_ms=self.dice.choice((0, 900_001)) if self.one_in(30) else 600_000,
            node=self.node(),
        )
        # The first one aborts what is open, and has to be repeated.
        return [step, step] if self.one_in(2) else [step]

    def transacts(self) -> list[s.Step]:
        """Draw a transaction from its beginning to its end."""
        transactional_id, old = self.transactional_id(), self.is_old()
        producer = self.producer(transactional_id)
        who = transactional_id, producer
        steps: list[s.Step] = []
        places = [self.dice.choice((("a", 0), ("a", 1), ("a", 2), ("b", 0))) for _ in range(2)]
        places = list(dict.fromkeys(places))
        if old:
            version = self.dice.between(0, _HIGHEST_ADD_OF_CLIENTS)
            steps.append(t.AddToTransaction(version, *who, tuple(places)))
        for place in places:
            steps += [self.produce(*who, (place,), old=old) for _ in range(self.dice.between(1, 2))]
        if self.one_in(2):
            group = self.dice.choice(("g1", "g2"))
            if old:
                steps.append(t.AddGroupToTransaction(self.dice.between(0, 4), *who, group))
            steps += [self.commit(*who, group, old=old), self.fetch(group)]
        if not self.one_in(5):
            steps += self.finish(*who, old=old)
            if self.one_in(2):
                steps.append(self.fetch(self.dice.choice(("g1", "g2"))))
        return steps

    def produce(
        self, transactional_id: str, producer: str, places: tuple[tuple[str, int], ...], *, old: bool
    ) -> s.Step:
        self.tags += 1
        transactional, ahead = not self.one_in(15), self.ahead()
        return t.ProduceInTransaction(
            self.drawn(Api.PRODUCE, _LOWEST_PRODUCE, old=old),
            transactional_id,
            producer,
            places,
            f"{self.seed}.{self.tags}",
            self.dice.choice((1, 1, 2, 3)),
            ahead if transactional and self.verifies_epochs else min(ahead, 0),
            self.dice.choice((-1, 1, 2)) if self.one_in(15) else 0,
            transactional=transactional,
        )

    def produces(self) -> list[s.Step]:
        transactional_id = self.transactional_id()
        producer = self.producer(transactional_id)
        label = self.dice.choice(("a", "a", "b"))
        places = [(label, index) for index in range(3 if label == "a" else 1) if self.one_in(2)]
        places = places or [(label, 0)]
        if self.one_in(20):
            places.append((label, 7))
        return [self.produce(transactional_id, producer, tuple(places), old=self.is_old())]

    def adds(self) -> list[s.Step]:
        transactional_id = self.transactional_id()
        version = self.dice.between(0, self.ranges[Api.ADD_PARTITIONS_TO_TXN][1])
        places = tuple(dict.fromkeys(self.place() for _ in range(self.dice.between(1, 3))))
        return [
            t.AddToTransaction(
                version,
                transactional_id if not self.one_in(40) else "",
                self.producer(transactional_id),
                places,
                self.ahead(),
                verify_only=self.one_in(2),
                node=self.node(),
            )
        ]

    def finish(self, transactional_id: str, producer: str, *, old: bool) -> list[s.Step]:
        step = t.FinishTransaction(
            self.drawn(Api.END_TXN, old=old), transactional_id, producer, commit=not self.one_in(3)
        )
        return [step]

    def finishes(self) -> list[s.Step]:
        transactional_id = self.transactional_id()
        step = t.FinishTransaction(
            self.drawn(Api.END_TXN, old=self.is_old()),
            transactional_id if not self.one_in(40) else "",
            self.producer(transactional_id),
            commit=self.one_in(2),
            ahead=self.dice.choice((0, -1, -1, 1)) if self.one_in(3) else 0,
            node=self.node(),
        )
        return [step]

    # Offsets

    def adds_group(self) -> list[s.Step]:
        transactional_id = self.transactional_id()
        return [
            t.AddGroupToTransaction(
                self.dice.between(0, self.ranges[Api.ADD_OFFSETS_TO_TXN][1]),
                transactional_id,
                self.producer(transactional_id),
                self.dice.choice(("g1", "g2")),
                self.ahead(),
                self.node(),
            )
        ]

    def commit(self, transactional_id: str, producer: str, group: str, *, old: bool) -> s.Step:
        version = self.drawn(Api.TXN_OFFSET_COMMIT, old=old)
        is_member = version >= _MEMBERS_FROM_VERSION and group == "g1" and not self.one_in(3)
        return t.CommitInTransaction(
            version,
            transactional_id,
            producer,
            group,
            self.commit_parts(),
            self.ahead(),
            "m1" if is_member else None,
            self.dice.choice((g.NO_ID, g.UNKNOWN)) if self.one_in(8) else g.OWN,
            self.dice.choice((-1, 1)) if self.one_in(8) else 0,
            self.node(),
        )

    def commits(self) -> list[s.Step]:
        transactional_id = self.transactional_id()
        producer = self.producer(transactional_id)
        return [self.commit(transactional_id, producer, self.dice.choice(("g1", "g2")), old=self.is_old())]

    def fetch(self, group: str) -> s.Step:
        version = self.dice.between(_LOWEST_STABLE_FETCH, self.ranges[Api.OFFSET_FETCH][1])
        return g.OffsetFetch(version, (group,), self.fetch_parts(), require_stable=not self.one_in(3))

    def fetches(self) -> list[s.Step]:
        return [self.fetch(self.dice.choice(("g1", "g2")))]

    def commits_plainly(self) -> list[s.Step]:
        """Commit offsets outside of every transaction, which may be newer than pending ones."""
        return [g.OffsetCommit(8, "g2", self.commit_parts(), ahead=g.NO_GENERATION, member_id=g.NO_ID)]

    # Logs

    def reads(self) -> list[s.Step]:
        """Read committed records, or ask where they end."""
        place = self.dice.choice((("a", 0), ("a", 1), ("a", 2), ("b", 0)))
        if self.one_in(2):
            version = self.dice.between(_LOWEST_COMMITTED_LIST, self.ranges[Api.LIST_OFFSETS][1])
            return [r.ListOffsets(version, (r.OffsetAsked(*place, _LATEST),), committed=True)]
        version = self.dice.between(_LOWEST_FETCH, self.ranges[Api.FETCH][1])
        return [r.Fetch(version, (r.FetchPart(*place, self.dice.choice((0, 0, 3))),), committed=True)]

    # Faults

    def faults(self) -> list[s.Step]:
        label, index = self.dice.choice((("a", 0), ("a", 1), ("b", 0)))
        if self.nodes > 1:
            return [s.MoveLeader(label, index, self.dice.between(1, self.nodes))]
        return [s.Trim(label, index, -1)]
