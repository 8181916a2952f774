"""Table 1.5: RequestFuture against a model of it (CSM-CNC-05, CSM-CNC-06)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.errors import DisconnectError, IllegalGenerationError
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.errors import IllegalStateError

ACTIONS = st.lists(st.sampled_from(["complete", "fail", "listen", "value", "error"]), max_size=12)


def refused(call):
    try:
        call()
    except IllegalStateError:
        return True
    return False


@given(ACTIONS)
def test_the_first_outcome_stays_and_everything_else_is_refused(actions):
    future, boom = RequestFuture(), ValueError("boom")
    outcome, heard, expected, number = None, [], [], 0

    def listen(number):
        future.add_listener(
            lambda value: heard.append((number, value)), lambda error: heard.append((number, error))
        )

    for action in actions:
        if action == "complete":
            assert refused(lambda: future.complete(1)) == (outcome is not None)
            outcome = outcome or (1,)
        elif action == "fail":
            assert refused(lambda: future.fail(boom)) == (outcome is not None)
            outcome = outcome or (boom,)
        elif action == "listen":
            number += 1
            listen(number)
        elif action == "value":
            assert refused(lambda: future.value) == (outcome != (1,))
        else:
            assert refused(lambda: future.error) == (outcome != (boom,))
        expected = [(each, outcome[0]) for each in range(1, number + 1)] if outcome else []
        assert heard == expected
        assert (future.is_done, future.succeeded, future.failed) == (
            outcome is not None,
            outcome == (1,),
            outcome == (boom,),
        )


@pytest.mark.parametrize("value", [ValueError(), KeyboardInterrupt()])
def test_an_exception_is_no_value(value):
    future = RequestFuture()
    with pytest.raises(IllegalStateError):
        future.complete(value)
    assert not future.is_done


@pytest.mark.parametrize("error", [None, "boom", 7])
def test_a_failure_needs_an_exception(error):
    future = RequestFuture()
    with pytest.raises(IllegalStateError):
        future.fail(error)
    assert not future.is_done


@given(st.lists(st.integers(0, 3), max_size=5), st.booleans())
def test_chained_and_composed_futures_have_the_outcome_of_the_first(lengths, fails):
    """However many futures follow one another, and whether they were connected before or after the outcome."""
    first, boom = RequestFuture(), ValueError("boom")
    ends = []
    for number, length in enumerate(lengths):
        if number == len(lengths) // 2:
            first.fail(boom) if fails else first.complete("v")
        last = first
        for _ in range(length):
            following = RequestFuture()
            last.chain(following)
            last = following.compose(lambda value, to: to.complete(value + "'"))
        ends.append((length, last))
    if not first.is_done:
        first.fail(boom) if fails else first.complete("v")
    for length, last in ends:
        assert (last.error is boom) if fails else (last.value == "v" + "'" * length)


def test_compose_can_turn_a_failure_into_a_value():
    first = RequestFuture()
    second = first.compose(lambda value, to: to.complete(value), lambda error, to: to.complete(str(error)))
    first.fail(ValueError("boom"))
    assert second.value == "boom"


def test_retriable_is_the_error_s():
    assert RequestFuture.of_error(DisconnectError("c", "t")).is_retriable
    assert not RequestFuture.of_error(IllegalGenerationError("c", "t")).is_retriable
    assert not RequestFuture.of_error(ValueError()).is_retriable
    with pytest.raises(IllegalStateError):
        _ = RequestFuture.of_value(1).is_retriable


def test_listeners_that_are_added_by_a_listener_run_after_the_others():
    future, heard = RequestFuture(), []

    def first(value):
        heard.append(1)
        future.add_listener(lambda _: heard.append(3), lambda _: None)

    future.add_listener(first, lambda _: None)
    future.add_listener(lambda _: heard.append(2), lambda _: None)
    future.complete(None)
    assert heard == [1, 2, 3]
