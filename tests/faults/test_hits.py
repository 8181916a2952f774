"""The hits of a fault: pure functions of the witness's rows."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.kind import GRACE_NS
from faults.kinds.disconnect import FAULT as DISCONNECT
from faults.kinds.dropped_response import FAULT as DROPPED_RESPONSE
from faults.kinds.latency import FAULT as LATENCY
from faults.kinds.refuse import FAULT as REFUSE
from faults.kinds.reset import FAULT as RESET
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import AtTime, FaultSpec
from harness.plugins.fault import FaultKind, each, toxic_name

BEGAN_NS, ENDED_NS = 1_000, 2_000


def row(kind: FaultKind, brokers: tuple[int, ...] = (), **params: int) -> FaultRow:
    spec = FaultSpec(kind.name, AtTime(0), 1, params, brokers)
    return FaultRow(0, spec, (BEGAN_NS, ENDED_NS), (BEGAN_NS, ENDED_NS))


def frame(kind: FrameKind, t_ns: int = 1_500, broker: int = 1, closed_by: str | None = None) -> Frame:
    return Frame(t_ns=t_ns, lane=0, broker=broker, conn=1, kind=kind, closed_by=closed_by)


ONE_OF_EACH = [
    frame(FrameKind.OPEN),
    *[frame(FrameKind.REQUEST)] * 2,
    *[frame(FrameKind.RESPONSE)] * 3,
    *[frame(FrameKind.CLOSE, closed_by="client")] * 4,
    *[frame(FrameKind.CLOSE, closed_by="broker")] * 5,
    frame(FrameKind.CLOSE),
    frame(FrameKind.OPAQUE),
]


@pytest.mark.parametrize(
    ("kind", "params", "expected"),
    [
        (LATENCY, {"upstream_ms": 5}, 2),
        (LATENCY, {"downstream_ms": 5}, 3),
        (LATENCY, {"upstream_ms": 5, "downstream_ms": 5}, 5),
        (DROPPED_RESPONSE, {}, 3),
        (DISCONNECT, {}, 4),
        (RESET, {}, 4),
        (REFUSE, {}, 4),
    ],
)
def test_rows_that_count_as_hits(kind: FaultKind, params: dict[str, int], expected: int) -> None:
    assert kind.hits(row(kind, **params), ONE_OF_EACH) == expected


@pytest.mark.parametrize("kind", [DISCONNECT, RESET, REFUSE, DROPPED_RESPONSE])
@given(t_ns=st.integers(0, 2 * GRACE_NS), broker=st.integers(1, 3), brokers=st.sets(st.integers(1, 3)))
def test_only_the_window_and_the_brokers_of_the_fault_count(
    kind: FaultKind, t_ns: int, broker: int, brokers: set[int]
) -> None:
    drops = kind is DROPPED_RESPONSE
    seen = frame(FrameKind.RESPONSE if drops else FrameKind.CLOSE, t_ns, broker, "client")
    within = BEGAN_NS <= t_ns <= ENDED_NS + (0 if drops else GRACE_NS)
    expected = within and (not brokers or broker in brokers)
    assert kind.hits(row(kind, tuple(brokers)), [seen]) == int(expected)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=2, max_size=2, unique=True))
def test_different_faults_have_different_toxics(drawn: list[tuple[int, int]]) -> None:
    first, second = (FaultSpec("latency", AtTime(at), 1, {"upstream_ms": ms}) for at, ms in drawn)
    assert toxic_name(first) != toxic_name(second)
    assert toxic_name(first) == toxic_name(FaultSpec("latency", first.start, 1, dict(first.params)))


def test_acting_on_all_waits_for_all_although_one_fails() -> None:
    acted = []

    async def act(n: int) -> None:
        for _ in range(n):
            await asyncio.sleep(0)
        acted.append(n)
        if n == 0:
            raise KeyError(n)

    with pytest.raises(KeyError):
        asyncio.run(each([0, 5, 9], act))
    assert acted == [0, 5, 9]
