"""Futures of requests: one outcome, and listeners that learn of it once each, in their order."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.errors import IllegalStateError
from clients.seeding.consumer_variant import variant_of
from suites.properties.property import consumer_property, example

STEPS = st.lists(
    st.sampled_from(
        ["value", "error", "listen", "read value", "read error", "an error as value", "no error"]
    ),
    max_size=8,
)


class Failure(Exception):
    """The error of a future."""


def future_of(components: Components) -> RequestFuture[Any]:
    """Return a new future of the client under test."""
    return variant_of(components).future()


def _refused(what: str, call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
    except IllegalStateError:
        return
    raise AssertionError(f"{what} was accepted")


@consumer_property("CSM-CNC-05", "CSM-CNC-06", steps=STEPS)
@example(steps=["value", "error"])
@example(steps=["error", "value"])
@example(steps=["value", "value"])
@example(steps=["listen", "listen", "value", "listen"])
def a_future_ends_once_and_tells_each_listener_once(components: Components, steps: list[str]) -> None:
    """A future has one outcome. Each listener learns of it once, in turn, or at once if it comes later."""
    future, outcome, added = future_of(components), "", 0
    told: list[tuple[int, Any]] = []
    error = Failure()
    for step in steps:
        if step == "listen":
            listener = partial(_note, told, added)
            future.add_listener(listener, listener)
            added += 1
        elif step == "an error as value":
            _refused("an exception as a value", future.complete, Failure())
        elif step == "no error":
            _refused("None as an error", future.fail, None)
        elif step.startswith("read"):
            _read(future, step, outcome, error)
        elif outcome:
            _refused(f"{step} after {outcome}", *_ending(future, step, error))
        else:
            call, argument = _ending(future, step, error)
            call(argument)
            outcome = step
        assert (future.is_done, future.succeeded, future.failed) == (
            bool(outcome),
            outcome == "value",
            outcome == "error",
        )
        due = list(range(added)) if outcome else []
        assert told == [(number, 7 if outcome == "value" else error) for number in due]


def _note(told: list[tuple[int, Any]], number: int, outcome: Any) -> None:
    told.append((number, outcome))


def _ending(future: RequestFuture[Any], step: str, error: Exception) -> tuple[Any, Any]:
    return (future.complete, 7) if step == "value" else (future.fail, error)


def _read(future: RequestFuture[Any], step: str, outcome: str, error: Exception) -> None:
    wanted = step.removeprefix("read ")
    if wanted != outcome:
        _refused(f"{step} of a future with {outcome or 'no outcome'}", getattr, future, wanted)
    else:
        assert getattr(future, wanted) == (7 if wanted == "value" else error)


@consumer_property("CSM-CNC-06", fails=st.booleans(), composed=st.integers(1, 4), ends_first=st.booleans())
def a_composed_or_chained_future_has_the_outcome_of_the_first(
    components: Components, fails: bool, composed: int, ends_first: bool
) -> None:
    """An adapter turns a value into another one, an error passes unchanged, and a chain passes on both."""
    first, error = future_of(components), Failure()
    end = first.fail if fails else first.complete
    argument: Any = error if fails else 1
    if ends_first:
        end(argument)
    last = first
    for _ in range(composed):
        last = last.compose(lambda value, adapted: adapted.complete(value + 1))
    chained = future_of(components)
    last.chain(chained)
    if not ends_first:
        assert not chained.is_done
        end(argument)
    for future in (last, chained):
        assert (future.error if fails else future.value) == (error if fails else 1 + composed)
