"""Table 1.6, written a second time from SubscriptionState.FetchStates: what each state may become."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.subscription.fetch_states import FETCH, FetchEvent, FetchState
from clients.reference.consumer.subscription.partition_state import PartitionState
from clients.reference.consumer.subscription.positions import FetchPosition, LeaderAndEpoch

ALLOWED = {
    "INITIALIZING": {"FETCHING", "AWAIT_RESET", "AWAIT_VALIDATION"},
    "FETCHING": {"FETCHING", "AWAIT_RESET", "AWAIT_VALIDATION"},
    "AWAIT_RESET": {"FETCHING", "AWAIT_RESET"},
    "AWAIT_VALIDATION": {"FETCHING", "AWAIT_RESET", "AWAIT_VALIDATION"},
}
WANTED = {"position": "FETCHING", "reset": "AWAIT_RESET", "validate": "AWAIT_VALIDATION"}


def test_the_machine_has_exactly_the_transitions_of_the_table():
    for state in FetchState:
        for event in FetchEvent:
            wanted = WANTED[event.told]
            assert FETCH.allows(state, event) == (wanted in ALLOWED[state.told])
            if FETCH.allows(state, event):
                assert FETCH.after(state, event).told == wanted


position = st.builds(
    FetchPosition,
    st.integers(0, 100),
    st.none() | st.integers(0, 9),
    st.builds(LeaderAndEpoch, st.none() | st.integers(1, 3), st.none() | st.integers(0, 9)),
)
step = st.one_of(
    st.tuples(st.just("seek_validated"), position),
    st.tuples(st.just("seek_unvalidated"), position),
    st.tuples(st.just("validate"), position),
    st.tuples(st.just("maybe_validate"), st.builds(LeaderAndEpoch, st.none() | st.integers(1, 3), st.none())),
    st.tuples(st.just("follow_leader"), st.just(LeaderAndEpoch(3, 4))),
    st.tuples(st.just("complete_validation")),
    st.tuples(st.just("reset"), st.sampled_from(["earliest", "latest"])),
)


@given(st.lists(step, max_size=15))
def test_whatever_is_wanted_the_state_follows_the_table_and_has_a_position_if_it_needs_one(steps):
    moves = []
    state = PartitionState(lambda *move: moves.append(move))
    for name, *given_ in steps:
        before = state.state
        getattr(state, name)(*given_)
        assert state.state is before or state.state.told in ALLOWED[before.told] | {"AWAIT_VALIDATION"}
        assert state.state.requires_position == (state.position is not None)
        assert state.has_valid_position == (state.state is FetchState.FETCHING)
        assert not state.is_awaiting_reset or state.strategy is not None
    for before, event, after, _ in moves:
        assert FETCH.after(before, event) is after
    assert [before for before, *_ in moves] == [FetchState.INITIALIZING, *[move[2] for move in moves]][:-1]
