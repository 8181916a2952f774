"""The effects of faults on clients that read: found in stories that have them, and in none without a fault."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from msgspec.structs import replace as restruct

from faults.effects import fetching, frames
from harness.model.consumer_contract import Consumed, ConsumerError, RecordsConsumed
from harness.model.evidence import Evidence
from harness.model.harness_events import HARNESS, RecordsWritten
from harness.model.rows import Disposition, FaultRow, Frame, FrameKind, LogRecord
from harness.model.spec import AtTime, FaultSpec, FrameMatch, Workload
from harness.plugins import registry
from harness.plugins.fault import toxic_name
from suites.scenarios.effects import members, reading

MS = 1_000_000
T0 = 5_000_000 * MS
#: The effects that only frames show.
OF_FRAMES = [
    reading.unanswered,
    reading.unasked,
    reading.late,
    reading.doubled,
    reading.swapped,
    reading.in_pieces,
    reading.refused,
    reading.out_of_range,
    reading.other_leaders,
    reading.reconnected,
    reading.hung_up,
    reading.sought,
    reading.rejoined,
    reading.throttled,
    reading.strange,
    reading.left_unheard,
    reading.left_unasked,
    reading.left_refused,
    reading.refused_for_good,
]


@dataclass
class Tale:
    """Requests and answers of members, as they passed the witness."""

    story: object
    rows: list[Frame] = field(default_factory=list)
    asked: int = 0

    def ask(
        self, api: str, at_ms: float, answer_ms: float | None = None, conn: int = 1, **answer: object
    ) -> None:
        """A request passes, and its answer if there is one. ``answer`` has fields of the answer."""
        self.asked += 1
        common = {"lane": 0, "broker": answer.pop("broker", 1), "conn": conn, "api": api}
        common |= {"correlation_id": self.asked}
        client = answer.pop("client", "m1")
        self.rows.append(Frame(ns(at_ms), kind=FrameKind.REQUEST, client_id=client, **common))
        if answer_ms is not None:
            self.rows.append(Frame(ns(answer_ms), kind=FrameKind.RESPONSE, **common, **answer))

    def lost(self, api: str, at_ms: float, client: str = "m1") -> None:
        """A request is kept from passing."""
        self.asked += 1
        self.rows.append(
            Frame(
                ns(at_ms),
                0,
                1,
                1,
                FrameKind.REQUEST,
                api=api,
                client_id=client,
                correlation_id=self.asked,
                disposition=Disposition.BLOCKED,
            )
        )

    def close(self, at_ms: float, conn: int = 1) -> None:
        self.rows.append(Frame(ns(at_ms), 0, 1, conn, FrameKind.CLOSE, closed_by="client"))

    def evidence(self, *faults: FaultSpec, **window: float) -> Evidence:
        """Return the evidence, with the faults in effect from ``begin_ms`` to ``end_ms``."""
        span = ns(window.get("begin_ms", 0)), ns(window.get("end_ms", 5_000))
        told = self.story.evidence()
        passed = [row for row in self.rows if row.disposition is not Disposition.BLOCKED]
        return replace(
            told,
            frames=tuple(sorted(passed, key=lambda row: row.t_ns)),
            blocked_frames=tuple(row for row in self.rows if row.disposition is Disposition.BLOCKED),
            faults=tuple(FaultRow(index, spec, span, span, 1) for index, spec in enumerate(faults)),
        )


def ns(at_ms: float) -> int:
    return T0 + int(at_ms * MS)


def on(api: str, kind: str = "dropped_frame") -> FaultSpec:
    return FaultSpec(kind, AtTime(0), 5_000, frames=FrameMatch(api))


@pytest.fixture
def tale(story):
    return Tale(story(workload=Workload(kind="consume", partitions=2), config={"fetch.max.wait.ms": 250}))


def counts(effect, tale: Tale, *faults: FaultSpec, **window: float) -> int:
    """Return what an effect counts. Without the faults it must count nothing."""
    evidence = tale.evidence(*faults, **window)
    assert effect(replace(evidence, faults=())).count == 0
    return effect(evidence).count


@pytest.mark.parametrize("effect", OF_FRAMES, ids=lambda effect: effect.__name__)
def test_a_calm_group_shows_no_effect(tale, effect):
    for n in range(20):
        tale.ask("Fetch", 100 * n, 100 * n + 90)
        tale.ask("Heartbeat", 100 * n + 1, 100 * n + 2, conn=2)
        tale.ask("OffsetCommit", 100 * n + 3, 100 * n + 4, conn=2)
    assert counts(effect, tale, FaultSpec("disconnect", AtTime(0), 1_000)) == 0


@pytest.mark.parametrize(("again", "count"), [("Fetch", 1), ("Heartbeat", 0), (None, 0)])
def test_a_lost_answer_shows_in_another_request(tale, again, count):
    tale.ask("Fetch", 100)
    if again:
        tale.ask(again, 3_000, 3_001, conn=2)
    assert counts(reading.unanswered, tale, on("Fetch")) == count
    assert counts(reading.left_unheard, tale, on("Fetch")) == 1
    assert counts(reading.unanswered, tale, on("OffsetCommit")) == 0


@pytest.mark.parametrize(("client", "count"), [("m1", 1), ("m2", 0)])
def test_a_lost_request_shows_in_another_of_its_member(tale, client, count):
    tale.lost("OffsetCommit", 100)
    tale.ask("OffsetCommit", 3_000, 3_001, client=client)
    assert counts(reading.unasked, tale, on("OffsetCommit")) == count
    assert counts(reading.left_unasked, tale, on("OffsetCommit")) == 1


@pytest.mark.parametrize(("kept_ms", "late", "pieces"), [(10, 0, 0), (100, 0, 1), (300, 1, 1)])
def test_an_answer_is_late_if_it_was_kept_on_its_way(tale, kept_ms, late, pieces):
    tale.ask("Fetch", 100, 500, received_ns=ns(500 - kept_ms), fault="f", disposition=Disposition.DELAYED)
    assert counts(reading.late, tale, on("Fetch")) == late
    assert counts(reading.in_pieces, tale, on("Fetch")) == pieces
    assert counts(reading.swapped, tale, on("Fetch")) == 1


def test_an_answer_passed_twice(tale):
    tale.ask("Heartbeat", 100, 101, disposition=Disposition.ANNOTATED)
    assert counts(reading.doubled, tale, on("Heartbeat")) == 1
    assert counts(reading.doubled, tale, on("Fetch")) == 0


@pytest.mark.parametrize(
    ("later", "count"), [("Heartbeat", 1), ("JoinGroup", 1), ("FindCoordinator", 1), ("Fetch", 0)]
)
def test_a_refusal_shows_in_what_the_member_asks_then(tale, later, count):
    spec = FaultSpec("error_response", AtTime(0), 5_000, {"api": 12, "code": 25})
    tale.ask("Heartbeat", 100, 101, error_codes=(25,), fault=toxic_name(spec))
    tale.ask(later, 200, 201, conn=2)
    assert counts(reading.refused, tale, spec) == count
    assert counts(reading.left_refused, tale, spec) == counts(reading.refused_for_good, tale, spec) == 1


def test_an_error_of_the_broker_itself_is_no_refusal_of_the_fault(tale):
    tale.ask("JoinGroup", 100, 101, error_codes=(79,))
    tale.ask("JoinGroup", 102, 103)
    spec = FaultSpec("error_response", AtTime(0), 5_000, {"api": 11, "code": 79})
    assert counts(reading.refused, tale, spec) == 0


def test_offsets_are_out_of_range(tale):
    tale.ask("Fetch", 100, 200, error_codes=(1,))
    spec = FaultSpec("log_trim", AtTime(0), 5_000)
    assert counts(reading.out_of_range, tale, spec) == 0
    tale.ask("ListOffsets", 300, 301)
    assert counts(reading.out_of_range, tale, spec) == 1


@pytest.mark.parametrize(("broker", "count"), [(2, 1), (1, 0)])
def test_another_leader_is_fetched_from(tale, broker, count):
    tale.ask("Fetch", 100, 200, error_codes=(6,))
    tale.ask("Fetch", 300, 400, conn=2, broker=broker)
    assert counts(reading.other_leaders, tale, FaultSpec("leader_move", AtTime(0), 5_000)) == count


@pytest.mark.parametrize(
    ("api", "shows", "hides"),
    [("Fetch", reading.reconnected, reading.hung_up), ("Heartbeat", reading.hung_up, reading.reconnected)],
)
def test_a_connection_ends_and_another_takes_its_place(tale, api, shows, hides):
    tale.ask(api, 100, 200)
    tale.close(300)
    spec = FaultSpec("reset", AtTime(0), 5_000)
    assert counts(shows, tale, spec) == 0
    tale.ask(api, 400, 500, conn=2)
    assert counts(shows, tale, spec) == 1
    assert counts(hides, tale, spec) == 0


@pytest.mark.parametrize(
    ("api", "shows"), [("FindCoordinator", reading.sought), ("JoinGroup", reading.rejoined)]
)
def test_a_member_that_had_its_answer_asks_again(tale, api, shows):
    tale.ask(api, 100, 110)
    tale.ask(api, 1_100, 1_110, client="m2")
    spec = FaultSpec("coordinator_move", AtTime(0), 5_000)
    assert counts(shows, tale, spec, begin_ms=1_000) == 0
    tale.ask(api, 1_200, 1_210)
    assert counts(shows, tale, spec, begin_ms=1_000) == 1


def test_a_throttle_time_counts_for_the_apis_of_the_fault(tale):
    tale.ask("Fetch", 100, 200, throttle_ms=500)
    tale.ask("Heartbeat", 100, 200, throttle_ms=500, conn=2)
    assert counts(reading.throttled, tale, FaultSpec("quota", AtTime(0), 5_000, {"fetched": 1})) == 1


def test_a_strange_answer_shows_in_another_connection(tale):
    tale.ask("Fetch", 100, 200, fault="f", disposition=Disposition.CHANGED)
    assert counts(reading.strange, tale, on("Fetch")) == 0
    tale.ask("Fetch", 300, 400, conn=2)
    assert counts(reading.strange, tale, on("Fetch")) == 1


def test_a_producer_does_not_read(story):
    told = Tale(story())
    told.ask("Produce", 100, 500, received_ns=ns(100), disposition=Disposition.ANNOTATED)
    told.ask("Produce", 600)
    told.ask("Produce", 700, 701)
    for effect in OF_FRAMES:
        assert counts(effect, told, on("Produce")) == 0


def test_an_interrupted_call_counts_after_the_fault_began(tale):
    for at_ms in (500, 1_500):
        tale.story.history.append(
            ConsumerError(seq=0, mono_ns=ns(at_ms), wall_ns=0, producer="m1", call="poll", error="E")
        )
    assert counts(members.interrupted, tale, FaultSpec("wakeup", AtTime(0), 100), begin_ms=1_000) == 1


def consumed(at_ms: float, *offsets: int) -> RecordsConsumed:
    values = [None for _ in offsets]
    part = Consumed("run-0", 0, len(offsets), offsets[0], offsets[-1], list(offsets), values)
    stamp = {"seq": 0, "mono_ns": ns(at_ms), "wall_ns": 0, "producer": "m1"}
    return RecordsConsumed(**stamp, count=len(offsets), partitions=[part], polled_ns=ns(at_ms))


def written(at_ms: float, *offsets: int) -> RecordsWritten:
    numbers, partitions = list(offsets), [0 for _ in offsets]
    stamp = {"seq": 0, "mono_ns": ns(at_ms), "wall_ns": 0, "producer": HARNESS}
    return RecordsWritten(
        **stamp, numbers=numbers, partitions=partitions, offsets=list(offsets), invoke_ns=ns(at_ms)
    )


def test_records_are_read_again_after_a_seek(tale):
    tale.story.history += [consumed(100, 0, 1, 2), consumed(1_500, 0, 1), consumed(1_600, 2, 3)]
    spec = FaultSpec("seek_back", AtTime(0), 100)
    assert counts(reading.read_again, tale, spec, begin_ms=1_000) == 3


@pytest.mark.parametrize(
    ("written_ms", "read_ms", "count"), [(1_100, 2_100, 1), (1_100, 1_200, 0), (1_900, 2_100, 0)]
)
def test_records_wait_for_the_end_of_a_pause(tale, written_ms, read_ms, count):
    tale.story.history += [written(written_ms, 7), consumed(read_ms, 7)]
    spec = FaultSpec("pause_partitions", AtTime(0), 100)
    assert counts(members.held_up, tale, spec, begin_ms=1_000, end_ms=2_000) == count


def fetching_until(tale: Tale, last_ms: int) -> None:
    """The member fetches, ten times a second, and each answer comes after 90 ms."""
    for at_ms in range(0, last_ms, 100):
        tale.ask("Fetch", at_ms, at_ms + 90)


@pytest.mark.parametrize(("fetches_again", "count"), [(False, 1), (True, 0)])
def test_an_answer_is_unheard_if_its_connection_ends_without_another_request(tale, fetches_again, count):
    fetching_until(tale, 1_500)
    if fetches_again:
        tale.ask("Fetch", 1_550)
    tale.close(1_600)
    evidence = tale.evidence(FaultSpec("dropped_response", AtTime(0), 1), begin_ms=1_000, end_ms=1_600)
    assert frames.unheard(evidence.faults[0], evidence) == count


@pytest.mark.parametrize(("again_ms", "count"), [(2_010, 1), (1_550, 0)])
def test_an_answer_is_held_back_until_the_fault_releases_it(tale, again_ms, count):
    fetching_until(tale, 1_400)
    tale.ask("Fetch", again_ms, again_ms + 5)
    evidence = tale.evidence(FaultSpec("late_response", AtTime(0), 1), begin_ms=1_000, end_ms=2_000)
    assert frames.held_back(evidence.faults[0], evidence) == count


@pytest.mark.parametrize(
    ("api", "asked_ms", "answered_ms", "count"),
    [
        ("Fetch", 1_000, 2_010, 1),
        ("Fetch", 1_600, 2_010, 0),
        ("Heartbeat", 1_600, 2_010, 1),
        ("JoinGroup", 1_000, 2_010, 0),
    ],
    ids=["longer than it may rest", "a long poll", "a request that may not rest", "a rebalance"],
)
def test_a_request_may_rest_at_its_broker(tale, api, asked_ms, answered_ms, count):
    fetching_until(tale, 900)
    tale.ask(api, asked_ms, answered_ms, conn=2)
    evidence = tale.evidence(FaultSpec("broker_pause", AtTime(0), 1), begin_ms=1_000, end_ms=2_000)
    spec = restruct(evidence.record.spec, config={**evidence.record.spec.config, "fetch.max.wait.ms": 250})
    evidence = replace(evidence, record=restruct(evidence.record, spec=spec))
    assert frames.unanswered(evidence.faults[0], evidence) == count


def test_a_trimmed_log_lacks_records_from_before_the_fault_only(tale):
    tale.story.history += [written(500, 0, 1), written(3_000, 2)]
    evidence = tale.evidence(FaultSpec("log_trim", AtTime(0), 1), begin_ms=1_000, end_ms=2_000)
    assert fetching.trimmed(evidence.faults[0], evidence) == 0
    kept = tuple(LogRecord("run-0", 0, n, n, 0, -1, -1, -1, False, True, None, None) for n in (2,))
    evidence = replace(evidence, log=kept)
    assert fetching.trimmed(evidence.faults[0], evidence) == 1
    assert registry.fault("log_trim").effect(evidence.faults[0], evidence).count == 1
