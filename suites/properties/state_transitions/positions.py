"""The position of an assigned partition: its moves, and what pauses, resets and assignments do to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from clients.reference.consumer.calls import Clock
from clients.reference.consumer.components import Components
from clients.reference.consumer.errors import NoOffsetForPartitionError
from clients.reference.consumer.subscription.positions import FetchPosition, LeaderAndEpoch, OffsetAndMetadata
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.telemetry.trace import StateChanged, TraceEvent
from suites.oracle import CONSUMER_MACHINES
from suites.properties.property import consumer_property, example

FETCH = CONSUMER_MACHINES["fetch"]
A, B = ("t", 0), ("t", 1)
OLD, NEW = LeaderAndEpoch(1, 1), LeaderAndEpoch(2, 2)
EVENTS = ("position", "validate", "reset", "complete", "truncated", "looked up", "leader", "advance")


class Positions:
    """Assigned partitions of one consumer, and the trace of their moves."""

    def __init__(self, components: Components, policy: str = "earliest") -> None:
        self.trace: list[TraceEvent] = []
        self.clock = Clock(0)
        self.all: SubscriptionState = components.subscriptions(policy, self.clock, self.trace.append)
        self.all.subscribe(["t"])
        self.all.assign_from_subscribed([A, B])

    def moves(self) -> list[StateChanged]:
        """Return the moves of partition 0."""
        return [each for each in self.trace if isinstance(each, StateChanged) and each.subject == "t-0"]

    def do(self, event: str, offset: int) -> None:
        """Let something happen to partition 0."""
        at, subscriptions = self.all.state(A), self.all
        assert at is not None
        known = FetchPosition(offset, 1, OLD)
        if event == "position":
            at.seek_validated(known)
        elif event == "validate":
            at.validate(known)
        elif event == "reset":
            subscriptions.request_offset_reset(A, "earliest")
        elif event == "complete" and at.position is not None:
            subscriptions.complete_validation(A, at.position, at.position.offset, 1)
        elif event == "truncated" and at.position is not None:
            subscriptions.complete_validation(A, at.position, max(at.position.offset - 1, 0), 1)
        elif event == "looked up":
            subscriptions.maybe_seek_unvalidated(A, FetchPosition(offset, None, OLD), "earliest")
        elif event == "leader":
            subscriptions.maybe_validate_position(A, NEW)
        elif event == "advance" and at.has_valid_position:
            subscriptions.advance(A, known)


@consumer_property(
    "CSM-FET-03",
    "CSM-FET-07",
    events=st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 9)), max_size=12),
)
@example(events=[("reset", 0), ("validate", 3)])
@example(events=[("position", 5), ("leader", 0), ("position", 7)])
def a_position_moves_as_the_oracle_says(components: Components, events: list[tuple[str, int]]) -> None:
    """Each move of a partition is in the oracle's table and begins where the last one ended. Others change nothing."""
    positions = Positions(components)
    state = FETCH.initial
    for event, offset in events:
        told = len(positions.moves())
        positions.do(event, offset)
        for move in positions.moves()[told:]:
            assert move.before == state, f"left {move.before}, although it was {state}"
            due = FETCH.table.get((move.before, move.cause))
            assert due == move.after, (
                f"{move.before} --{move.cause}--> {move.after}, and the oracle has {due}"
            )
            state = move.after
        at = positions.all.state(A)
        assert at is not None
        assert at.state.told == state, f"is {at.state.told} without a move from {state}"
        has_position = state in ("FETCHING", "AWAIT_VALIDATION")
        assert (at.position is not None) is has_position, f"the position is {at.position} in {state}"
        assert at.is_fetchable is (state == "FETCHING")


@consumer_property(
    "CSM-FET-08",
    offset=st.integers(0, 100),
    keeps=st.booleans(),
    resumes=st.booleans(),
)
def a_pause_lasts_as_long_as_the_assignment(
    components: Components, offset: int, keeps: bool, resumes: bool
) -> None:
    """A partition that stays assigned keeps its position and its pause. One that comes back begins again."""
    positions = Positions(components)
    for partition in (A, B):
        positions.all.seek_validated(partition, FetchPosition(offset, 1, OLD))
    positions.all.pause(A)
    assert not positions.all.is_fetchable(A) and positions.all.is_fetchable(B)
    assert positions.all.fetchable() == [B]
    if not keeps:
        positions.all.assign_from_subscribed([B])
    positions.all.assign_from_subscribed([A, B])
    assert positions.all.is_paused(A) is keeps
    at = positions.all.position(A)
    assert (at.offset if at else None) == (offset if keeps else None)
    if keeps and resumes:
        positions.all.resume(A)
        assert positions.all.is_fetchable(A)


@consumer_property(
    "CSM-FET-11",
    "CSM-FET-06",
    between=st.lists(st.sampled_from(["seek", "other reset", "same reset", "new assignment"]), max_size=2),
    offset=st.integers(1, 50),
)
@example(between=["seek"], offset=9)
@example(between=["other reset"], offset=9)
def a_lookup_counts_while_it_is_awaited(components: Components, between: list[str], offset: int) -> None:
    """The offset that a lookup found is adopted, unless a seek, another reset or an assignment came in between."""
    positions = Positions(components)
    positions.all.request_offset_reset(A, "earliest")
    expected: int | None = offset
    for event in between:
        if event == "seek":
            positions.all.seek_validated(A, FetchPosition(1_000, None, OLD))
            expected = 1_000
        elif event == "other reset":
            positions.all.request_offset_reset(A, "latest")
            expected = None
        elif event == "same reset":
            positions.all.request_offset_reset(A, "earliest")
            expected = offset
        else:
            positions.all.assign_from_subscribed([B])
            positions.all.assign_from_subscribed([A, B])
            expected = None
    positions.all.maybe_seek_unvalidated(A, FetchPosition(offset, None, OLD), "earliest")
    at = positions.all.position(A)
    assert (at.offset if at else None) == expected


@consumer_property("CSM-FET-11", policy=st.sampled_from(["earliest", "latest", "none"]), known=st.booleans())
def a_position_that_nobody_knows_is_reset_by_the_policy(
    components: Components, policy: str, known: bool
) -> None:
    """A partition without a position is looked up by auto.offset.reset, or is an error without a policy."""
    positions = Positions(components, policy)
    if known:
        positions.all.seek_validated(A, FetchPosition(3, None, OLD))
    try:
        positions.all.reset_initializing()
    except NoOffsetForPartitionError:
        assert policy == "none"
    else:
        assert policy != "none", "a position was reset without a policy"
    strategies = [state and state.strategy for state in map(positions.all.state, (A, B))]
    due = None if policy == "none" else policy
    assert strategies == [None if known else due, due]


@consumer_property(
    "CSM-ACM-04",
    "CSM-OFC-06",
    offsets=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    state=st.sampled_from(["FETCHING", "AWAIT_RESET", "AWAIT_VALIDATION", "INITIALIZING"]),
)
def only_valid_positions_are_committed(components: Components, offsets: tuple[int, int], state: str) -> None:
    """A commit of everything holds the next offset and the epoch of partitions with a valid position only."""
    positions = Positions(components)
    committed: dict[Any, OffsetAndMetadata] = {B: OffsetAndMetadata(offsets[1], "", 1)}
    positions.all.seek_validated(B, FetchPosition(offsets[1], 1, OLD))
    if state != "INITIALIZING":
        positions.all.seek_validated(A, FetchPosition(offsets[0], 1, OLD))
    if state == "AWAIT_RESET":
        positions.all.request_offset_reset(A)
    elif state == "AWAIT_VALIDATION":
        positions.all.maybe_validate_position(A, NEW)
    elif state == "FETCHING":
        committed[A] = OffsetAndMetadata(offsets[0], "", 1)
    found: Mapping[Any, OffsetAndMetadata] = positions.all.all_consumed()
    assert found == committed


@consumer_property(
    "CSM-FET-07",
    offset=st.integers(0, 20),
    end=st.integers(-1, 20),
    policy=st.sampled_from(["earliest", "none"]),
)
@example(offset=9, end=4, policy="earliest")
@example(offset=9, end=4, policy="none")
@example(offset=9, end=-1, policy="earliest")
def a_position_beyond_the_leaders_log_is_truncated(
    components: Components, offset: int, end: int, policy: str
) -> None:
    """A position goes back to where the logs differ, or is reported without a policy. Within the log it is kept."""
    positions = Positions(components, policy)
    positions.all.seek_validated(A, FetchPosition(offset, 1, OLD))
    assert positions.all.maybe_validate_position(A, NEW), "a new leader needs no validation"
    asked = positions.all.position(A)
    assert asked is not None and not positions.all.is_fetchable(A)
    found = positions.all.complete_validation(A, asked, end, 1 if end >= 0 else -1)
    state = positions.all.state(A)
    assert state is not None
    if end >= offset:
        assert found is None and state.is_fetchable and state.position == asked
    elif policy == "none":
        assert found is not None and found.partition == A and not state.is_fetchable
    elif end < 0:
        assert found is None and state.is_awaiting_reset
    else:
        assert found is None and state.is_fetchable and state.position is not None
        assert state.position.offset == end
