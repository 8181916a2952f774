from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.rows import Frame, FrameKind, ProducePart
from harness.model.spec import OnFrame
from harness.trial.trigger_counter import TriggerCounter
from harness.witness.trigger import matches


def frame(kind: FrameKind, api: str | None, partitions: Sequence[int] = ()) -> Frame:
    parts = tuple(ProducePart("t", partition) for partition in partitions)
    return Frame(t_ns=0, lane=0, broker=1, conn=1, kind=kind, api=api, produce=parts)


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (OnFrame("Produce"), True),
        (OnFrame("Produce", partition=2), True),
        (OnFrame("Produce", partition=0), False),
        (OnFrame("Produce", direction="request"), False),
        (OnFrame("Fetch"), False),
    ],
)
def test_a_trigger_matches_api_direction_and_partition(trigger: OnFrame, expected: bool) -> None:
    assert matches(trigger, frame(FrameKind.RESPONSE, "Produce", [1, 2])) is expected


def test_the_end_of_a_connection_matches_no_api() -> None:
    assert not matches(OnFrame("Produce"), frame(FrameKind.CLOSE, None))


@given(wanted=st.lists(st.booleans(), max_size=30), nth=st.integers(1, 10))
def test_a_counter_fires_once_at_the_nth_match(wanted: list[bool], nth: int) -> None:
    counter = TriggerCounter(OnFrame("Produce", nth=nth))
    fired = [counter.feed(frame(FrameKind.RESPONSE, "Produce" if it else "Fetch")) for it in wanted]
    places = [place for place, it in enumerate(wanted) if it]
    assert [place for place, it in enumerate(fired) if it] == places[nth - 1 : nth]
