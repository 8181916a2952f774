"""What the client knows about the cluster: which answers it accepts, what it forgets, and when it asks again."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from clients.reference.metadata.metadata import MetadataRequest
from clients.reference.ports import Node
from clients.reference.producer.producer import Components
from suites.properties.property import stateful_property
from suites.properties.state_transitions import wire
from suites.properties.walks.metadata import WALKS

TOPICS, BROKERS = ("a", "b", "c"), (1, 2, 3)
NO_LEADER, UNKNOWN_TOPIC = -1, 3
LOWEST_RELIABLE, HIGHEST = 9, wire.OFFERED[3][1]
IDS_SINCE = 10
MAX_AGE_MS, MAX_IDLE_MS, BACKOFF_MS, BACKOFF_MAX_MS = 3_000, 5_000, 20, 100

#: Leader and epoch of the two partitions of a topic, as some broker sees them.
VIEW = st.lists(st.tuples(st.sampled_from([*BROKERS, NO_LEADER]), st.integers(0, 4)), min_size=1, max_size=2)


@dataclass(slots=True)
class Asked:
    """A metadata request in flight: what it asks, and which topics were wanted when it was sent."""

    question: MetadataRequest
    wanted: frozenset[str]


@dataclass(slots=True)
class KnownTopic:
    """A topic as the client should know it: its id, and leader and epoch by partition."""

    topic_id: UUID | None
    partitions: dict[int, tuple[int, int]] = field(default_factory=dict)


@stateful_property(
    "MET-01",
    "MET-02",
    "MET-03",
    "MET-04",
    "MET-05",
    "MET-06",
    "MET-07",
    "MET-08",
    "MET-09",
    "MET-10",
    walks=WALKS,
)
class NewsOfTheClusterIsBelievedWhenItIsNewer(RuleBasedStateMachine):
    """Older leader epochs are ignored, new topics requested at once, failures spaced, and old answers renewed."""

    components = Components()

    @initialize(version=st.sampled_from([HIGHEST, HIGHEST, HIGHEST, LOWEST_RELIABLE, 7]))
    def begin(self, version: int) -> None:
        self.version = version
        self.config = wire.config(
            metadata_max_age_ms=MAX_AGE_MS,
            metadata_max_idle_ms=MAX_IDLE_MS,
            retry_backoff_ms=BACKOFF_MS,
            retry_backoff_max_ms=BACKOFF_MAX_MS,
        )
        self.now_ms = 1_000
        self.metadata = self.components.metadata(self.config, float, lambda event: None)
        self.asked: Asked | None = None
        self.used_ms: dict[str, int] = {}
        self.unserved: set[str] = set()
        self.known: dict[str, KnownTopic] = {}
        self.newest: dict[tuple[str, int], tuple[UUID | None, int]] = {}
        self.failures = 0
        self.not_before_ms = 0
        self.answered_ms: int | None = None
        self.wishes = True
        self.generation = dict.fromkeys(TOPICS, 1)

    # actions of the application

    @rule(topic=st.sampled_from(TOPICS))
    def use(self, topic: str) -> None:
        """A new topic is requested at once, whatever the backoff."""
        self.metadata.add(topic, self.now_ms)
        if topic not in self.used_ms:
            self.unserved.add(topic)
            self.not_before_ms = 0
        self.used_ms[topic] = self.now_ms

    @rule()
    def doubt(self) -> None:
        """After a leader error or a lost connection, the client asks again as soon as the backoff allows."""
        self.metadata.request_update()
        self.wishes = True

    @rule(passed_ms=st.sampled_from([1, 15, 20, 30, 80, 100, 1_000, MAX_AGE_MS, MAX_IDLE_MS]))
    def wait(self, passed_ms: int) -> None:
        self.now_ms += passed_ms

    # metadata requests

    @precondition(lambda self: self.asked is None)
    @rule()
    def ask(self) -> None:
        """A request is due as soon as metadata is wanted and the backoff has passed, or the answer is too old."""
        due = self.metadata.is_update_due(self.now_ms)
        too_old = self.answered_ms is None or self.now_ms - self.answered_ms >= MAX_AGE_MS
        wanted = bool(self.unserved) or self.wishes or too_old
        if self.now_ms < self.not_before_ms:
            assert not due, f"asks again {self.not_before_ms - self.now_ms} ms too early"
        if not wanted:
            assert not due, "asks without need"
        if not due:
            late_ms = self.now_ms - max(self.not_before_ms, self.answered_ms or 0)
            assert not wanted or late_ms < BACKOFF_MAX_MS * 1.2 or self.now_ms < self.not_before_ms
            return
        question = self.metadata.next_question(self.now_ms)
        asks = set(question.topics or ())
        live = {topic for topic, used_ms in self.used_ms.items() if self.now_ms < used_ms + MAX_IDLE_MS}
        if question.partial:
            assert asks == self.unserved, "a partial request asks for new topics only"
        else:
            assert live | self.unserved == asks, f"asks for {asks}, in use are {live}"
            self.used_ms = {topic: at_ms for topic, at_ms in self.used_ms.items() if topic in asks}
        self.asked = Asked(question, frozenset(asks))
        assert not self.metadata.is_update_due(self.now_ms + MAX_AGE_MS), "two requests at a time"

    @precondition(lambda self: self.asked is not None)
    @rule(empty=st.booleans())
    def fail(self, empty: bool) -> None:
        """After no answer, or one without brokers, nothing is deleted, and the waits for the next request grow."""
        assert self.asked is not None
        if empty:
            body = wire.metadata(self.version, {}, {})
            self.metadata.update(self.asked.question, body, self.now_ms)
        else:
            self.metadata.failed(self.now_ms, "caused by the property")
        self.asked = None
        self.wishes = True
        self.not_before_ms = self.now_ms + min(BACKOFF_MS * 2**self.failures, BACKOFF_MAX_MS)
        self.failures += 1
        assert self.metadata.next_update_ms() == self.not_before_ms

    @precondition(lambda self: self.asked is not None)
    @rule(
        views=st.tuples(VIEW, VIEW, VIEW),
        gone=st.sets(st.sampled_from(TOPICS), max_size=1),
        anew=st.sets(st.sampled_from(TOPICS), max_size=1),
    )
    def answer(self, views: tuple[list[tuple[int, int]], ...], gone: set[str], anew: set[str]) -> None:
        """A broker answers with its view of the cluster, which may be outdated, or with a recreated topic."""
        assert self.asked is not None
        for topic in anew:
            self.generation[topic] += 1
        asked, self.asked = self.asked, None
        ids = {topic: UUID(int=16 * TOPICS.index(topic) + self.generation[topic]) for topic in TOPICS}
        shown: dict[str, wire.TopicAnswer] = {}
        for topic, view in zip(TOPICS, views, strict=True):
            if topic in asked.wanted:
                partitions = [(index, leader, epoch) for index, (leader, epoch) in enumerate(view)]
                shown[topic] = (UNKNOWN_TOPIC, []) if topic in gone else (0, partitions)
        nodes = {node_id: (f"node{node_id}", 9092) for node_id in BROKERS}
        body = wire.metadata(self.version, nodes, shown, topic_ids=ids)
        self._learn(asked, shown, ids)
        self.metadata.update(asked.question, body, self.now_ms)
        self.failures, self.wishes = 0, False
        self.not_before_ms = 0 if self.unserved else self.now_ms + BACKOFF_MS
        if not asked.question.partial:
            self.answered_ms = self.now_ms
        unsettled = any(code for code, _ in shown.values()) or any(
            leader == NO_LEADER for _, partitions in shown.values() for _, leader, _ in partitions
        )
        self.wishes |= unsettled
        if self.unserved:
            assert self.metadata.is_update_due(self.now_ms), (
                f"{self.unserved} came too late for that question"
            )

    @precondition(lambda self: self.asked is None and self.used_ms)
    @rule(views=st.tuples(VIEW, VIEW, VIEW), anew=st.sets(st.sampled_from(TOPICS), max_size=2))
    def hear(self, views: tuple[list[tuple[int, int]], ...], anew: set[str]) -> None:
        """Request metadata and answer it as soon as possible."""
        self.doubt()
        self.now_ms = max(self.now_ms, self.not_before_ms) + int(BACKOFF_MAX_MS * 1.2)
        self.ask()
        if self.asked is not None:
            self.answer(views, set(), anew)

    def _learn(self, asked: Asked, shown: dict[str, wire.TopicAnswer], ids: dict[str, UUID]) -> None:
        """News about a partition counts unless its epoch is older than the newest of the same topic."""
        self.unserved -= asked.wanted
        before = self.known
        self.known = dict(before) if asked.question.partial else {}
        for topic, (code, partitions) in shown.items():
            self.known.pop(topic, None)
            if code:
                continue
            topic_id = ids[topic] if self.version >= IDS_SINCE else None
            known = self.known[topic] = KnownTopic(topic_id)
            for index, leader, told in partitions:
                epoch = told if self.version >= LOWEST_RELIABLE else -1
                newest = self.newest.get((topic, index))
                older = newest is not None and newest[0] == topic_id and -1 < epoch < newest[1]
                kept = before[topic].partitions.get(index) if older and topic in before else None
                if not older:
                    self.newest[topic, index] = (topic_id, epoch)
                known.partitions[index] = kept or (leader, epoch)
        self.newest = {place: seen for place, seen in self.newest.items() if place[0] in self.used_ms}

    @rule(topic=st.sampled_from(TOPICS), leader=st.sampled_from([*BROKERS, 9]), newer=st.integers(-1, 2))
    def told_beside(self, topic: str, leader: int, newer: int) -> None:
        """A Produce answer names a leader: it is adopted at once if its epoch is newer and its address known."""
        known = self.known.get(topic)
        if known is None or 0 not in known.partitions or not self.metadata.nodes.keys() >= set(BROKERS):
            return
        seen = self.newest.get((topic, 0), (None, -1))
        epoch = max(seen[1] + newer, 0)
        moved = self.metadata.update_partition_leadership({(topic, 0): (leader, epoch)}, (), self.now_ms)
        adopted = leader in BROKERS and epoch > seen[1]
        assert moved == ({(topic, 0)} if adopted else set())
        if adopted:
            known.partitions[0] = (leader, epoch)
            self.newest[topic, 0] = (known.topic_id, epoch)

    # invariants

    @invariant()
    def the_client_knows_what_it_should(self) -> None:
        assert set(self.metadata.topics) == set(self.known)
        for topic, known in self.known.items():
            told = self.metadata.topics[topic]
            partitions = {
                index: (NO_LEADER if each.leader is None else each.leader, each.epoch)
                for index, each in told.partitions.items()
            }
            assert partitions == known.partitions, f"{topic}: knows {partitions}, was told {known.partitions}"
            for index, (leader, _) in known.partitions.items():
                expected = leader if leader in self.metadata.nodes else None
                assert self.metadata.leader_of((topic, index)) == expected
        assert all(isinstance(node, Node) for node in self.metadata.nodes.values()) and self.metadata.nodes
