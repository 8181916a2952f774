"""Rules on a live connection: rows match what left the sockets, even if the connection ends meanwhile."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from harness.model.rows import Frame, FrameKind
from harness.model.spec import FrameMatch
from harness.witness.actions import (
    DROP,
    HOLD,
    SWAP,
    Action,
    changed,
    delay,
    drop_and_end,
    rewritten,
    slices,
    tear,
)
from harness.witness.relay import Relay
from harness.witness.rewrites import error_code, other_correlation_id, throttle_time

Play = Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]
API = "ApiVersions"
RST = struct.pack("ii", 1, 0)


def relay_of(ends: Any) -> Relay:
    [relay] = ends.lane.relays
    return relay


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0)  # there is no event for bytes that wait within the witness


async def asked(ends: Any, make: Any, *numbers: int) -> None:
    """Send requests with these numbers and wait until the broker has received them."""
    for n in numbers:
        ends.client_out.write(make.versions(n))
        assert await ends.broker_in.readexactly(len(make.versions(n))) == make.versions(n)


async def kept(ends: Any, make: Any, action: Action, *numbers: int) -> None:
    """Answer requests with these numbers, and wait until rule "r" keeps the answers in the witness."""
    await asked(ends, make, *numbers)
    ends.lane.arm("r", FrameMatch(API), action)
    for n in numbers:
        ends.broker_out.write(make.versions_told(n))
    waiting_bytes = sum(len(make.versions_told(n)) for n in numbers)
    await until(lambda: relay_of(ends).broker.passage.waiting_bytes == waiting_bytes)


async def received(ends: Any, make: Any, *numbers: int) -> None:
    """Assert that the client receives the answers with these numbers, in this order."""
    for n in numbers:
        assert await ends.client_in.readexactly(len(make.versions_told(n))) == make.versions_told(n)


def reset(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
    writer.transport.abort()


def responses(rows: list[Frame]) -> list[Any]:
    return [
        (row.correlation_id, row.fault, row.disposition and row.disposition.value)
        for row in rows
        if row.kind is FrameKind.RESPONSE
    ]


def has_requests(ends: Any, count: int) -> bool:
    return sum(row.kind is FrameKind.REQUEST for row in ends.rows) == count


def in_order_of_time(rows: list[Frame]) -> bool:
    """Return whether rows are in order of time and none is earlier than its frame."""
    return [row.t_ns for row in rows] == sorted(row.t_ns for row in rows) and all(
        row.arrived_ns <= row.t_ns for row in rows
    )


# Frames that wait when the connection ends


@pytest.mark.parametrize("who", ["client_out", "broker_out"])
@pytest.mark.parametrize(
    ("action", "numbers"),
    [(delay(60_000), (1, 2)), (HOLD, (1, 2)), (SWAP, (1,))],
    ids=["wait", "held", "behind"],
)
def test_frames_waiting_at_a_reset_are_blocked(
    action: Action, numbers: tuple[int, ...], who: str, make: Any, play: Play
) -> None:
    async def scenario(ends: Any) -> None:
        relay = relay_of(ends)
        await kept(ends, make, action, *numbers)
        reset(getattr(ends, who))
        await ends.lane.idle.wait()
        assert relay.broker.alarm is None
        ends.lane.disarm("r")
        assert responses(ends.rows) == [(n, "r" if n == 1 else None, "blocked") for n in numbers]
        assert all(row.received_ns is not None for row in ends.rows if row.kind is FrameKind.RESPONSE)
        assert in_order_of_time(ends.rows)

    play(scenario)


@pytest.mark.parametrize("end", [drop_and_end(reset=False), drop_and_end(reset=True), tear(3, reset=False)])
def test_nothing_passes_after_a_rule_has_ended_the_connection(end: Action, make: Any, play: Play) -> None:
    """Nothing passes in the other direction either, although a closed socket still sends its buffer."""

    async def scenario(ends: Any) -> None:
        ends.broker_out.transport.pause_reading()
        broker = relay_of(ends).broker
        sent, large = 0, make.produce(0, records=4_000)
        while not broker.transport.get_write_buffer_size():
            ends.client_out.write(large)
            await ends.client_out.drain()
            sent += 1
            await until(partial(has_requests, ends, sent))
        ends.lane.arm("held", FrameMatch(API, "request"), HOLD)
        ends.client_out.write(make.versions(9))
        await until(lambda: relay_of(ends).client.passage.waiting_bytes > 0)
        ends.lane.arm("end", FrameMatch("Produce"), end)
        ends.broker_out.write(make.produced(0) + make.produced(0))
        await ends.rows_until(FrameKind.CLOSE)
        ends.lane.disarm("held")
        assert [(row.kind.value, row.fault) for row in ends.rows if row.disposition == "blocked"] == [
            ("response", "end"),
            ("request", "held"),
            ("response", None),
        ]
        assert in_order_of_time(ends.rows)
        if not end.steps(b"12345678", ends.rows[0])[-1].reset:
            ends.broker_out.transport.resume_reading()
            assert await ends.broker_in.read() == large * sent

    play(scenario)


def test_a_closing_lane_records_the_frames_it_held(make: Any, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        await kept(ends, make, HOLD, 1)
        await ends.lane.close()
        assert responses(ends.rows) == [(1, "r", "blocked")]

    play(scenario)


# Frames that pass in the end


def test_rows_are_recorded_in_the_order_of_the_frames(make: Any, play: Play) -> None:
    """A dropped frame is recorded after the held one before it, as they were on the wire."""

    async def scenario(ends: Any) -> None:
        await asked(ends, make, 1, 2, 3)
        ends.lane.arm("held", FrameMatch(API), HOLD)
        ends.lane.arm("dropped", FrameMatch(API, first=2), DROP)
        ends.broker_out.write(make.versions_told(1) + make.versions_told(2) + make.versions_told(3))
        await until(lambda: relay_of(ends).broker.passage.waiting_bytes == 2 * len(make.versions_told(1)))
        assert responses(ends.rows) == []
        ends.lane.disarm("held")
        await received(ends, make, 1, 3)
        assert responses(ends.rows) == [(1, "held", "delayed"), (2, "dropped", "blocked"), (3, None, None)]
        assert in_order_of_time(ends.rows)

    play(scenario)


def test_a_frame_waiting_to_be_overtaken_passes_when_its_rule_is_disarmed(make: Any, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        await kept(ends, make, SWAP, 1)
        ends.lane.disarm("r")
        await received(ends, make, 1)
        assert responses(ends.rows) == [(1, None, None)]
        assert ends.rows[-1].note == "not changed: no later frame overtook it"

    play(scenario)


def test_an_overtaken_frame_is_recorded_as_delayed(make: Any, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        await kept(ends, make, SWAP, 1)
        await asked(ends, make, 2)
        ends.broker_out.write(make.versions_told(2))
        await received(ends, make, 2, 1)
        assert responses(ends.rows) == [(2, None, None), (1, "r", "delayed")]

    play(scenario)


@pytest.mark.parametrize(
    "action",
    [
        slices(1_000, 0),
        changed(error_code(0)),
        changed(throttle_time(0)),
        rewritten(lambda payload, _: payload),
    ],
    ids=["one piece", "the same code", "the same time", "the same bytes"],
)
def test_an_unchanged_frame_does_not_count_as_affected(action: Action, make: Any, play: Play) -> None:
    """The rule has still counted it, and does not act on the next one."""

    async def scenario(ends: Any) -> None:
        await asked(ends, make, 1, 2)
        ends.lane.arm("r", FrameMatch(API), action)
        ends.lane.arm("next", FrameMatch(API, first=2), DROP)
        for n in (1, 2):
            ends.broker_out.write(make.versions_told(n))
        await received(ends, make, 1)
        await until(lambda: len(responses(ends.rows)) == 2)
        assert responses(ends.rows) == [(1, None, None), (2, "next", "blocked")]
        assert [row.note for row in ends.rows if row.correlation_id == 1][
            -1
        ] == "not changed: it was passed on unchanged"

    play(scenario)


def test_a_frame_released_by_an_end_is_recorded_after_it(make: Any, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        await kept(ends, make, SWAP, 1)
        ends.broker_out.write_eof()
        await received(ends, make, 1)
        assert [row.kind.value for row in ends.rows] == ["open", "request", "close", "response"]
        assert responses(ends.rows) == [(1, None, None)]
        assert in_order_of_time(ends.rows)

    play(scenario)


def test_an_answer_after_the_client_closed_is_noted(make: Any, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        await kept(ends, make, HOLD, 1)
        ends.client_out.write_eof()
        await ends.rows_until(FrameKind.CLOSE)
        ends.lane.disarm("r")
        await received(ends, make, 1)
        assert (ends.rows[-1].kind, ends.rows[-1].note) == (FrameKind.RESPONSE, "after the client had closed")

    play(scenario)


def test_the_changed_correlation_id_is_recorded(make: Any, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        await asked(ends, make, 7)
        ends.lane.arm("r", FrameMatch(API), rewritten(lambda payload, _: other_correlation_id(payload)))
        ends.broker_out.write(make.versions_told(7))
        got = await ends.client_in.readexactly(len(make.versions_told(7)))
        assert responses(ends.rows) == [(int.from_bytes(got[4:8]), "r", "changed")]
        assert int.from_bytes(got[4:8]) == 7 ^ 0x7FFF_FFFF

    play(scenario)


# Data without recognisable frames


@pytest.mark.parametrize("cuts", [(1, 2), (1, 3), (3, 4), (2, 9)])
def test_a_rule_armed_within_a_frame_begins_with_the_next_one(
    cuts: tuple[int, int], make: Any, play: Play
) -> None:
    """The frame that has begun passes in any pieces."""

    async def scenario(ends: Any) -> None:
        whole = make.versions(1)
        ends.client_out.write(whole[: cuts[0]])
        assert await ends.broker_in.readexactly(cuts[0]) == whole[: cuts[0]]
        ends.lane.arm("r", FrameMatch(API, "request"), DROP)
        ends.client_out.write(whole[cuts[0] : cuts[1]])
        assert await ends.broker_in.readexactly(cuts[1] - cuts[0]) == whole[cuts[0] : cuts[1]]
        ends.client_out.write(whole[cuts[1] :] + make.versions(2) + make.versions(3))
        rest = whole[cuts[1] :] + make.versions(3)
        assert await ends.broker_in.readexactly(len(rest)) == rest
        assert [row.correlation_id for row in ends.rows if row.disposition == "blocked"] == [2]

    play(scenario)


NO_REQUEST = (10).to_bytes(4) + (600).to_bytes(2) + bytes(8)
#: The beginning of a frame of 64 KiB.
BEGINNING = (2**16).to_bytes(4) + b"abc"


def test_unreadable_data_is_not_held_as_a_frame(play: Play) -> None:
    async def scenario(ends: Any) -> None:
        ends.client_out.write(NO_REQUEST)
        assert await ends.broker_in.readexactly(len(NO_REQUEST)) == NO_REQUEST
        ends.lane.arm("idle", FrameMatch("Fetch"), DROP)
        ends.client_out.write(BEGINNING)
        assert await ends.broker_in.readexactly(len(BEGINNING)) == BEGINNING
        ends.broker_out.write(BEGINNING)
        assert await ends.client_in.readexactly(len(BEGINNING)) == BEGINNING

    play(scenario)


@pytest.mark.parametrize("is_armed", [True, False])
def test_held_data_passes_once_the_connection_is_unreadable(is_armed: bool, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        ends.lane.arm("idle", FrameMatch("Fetch"), DROP)
        ends.broker_out.write(BEGINNING)
        await until(lambda: relay_of(ends).broker.passage.held_bytes == len(BEGINNING))
        if not is_armed:
            ends.lane.disarm("idle")
        ends.client_out.write(NO_REQUEST)
        assert await ends.client_in.readexactly(len(BEGINNING)) == BEGINNING
        ends.client_out.close()
        ends.broker_out.close()
        await ends.lane.idle.wait()
        assert sum(row.size_bytes for row in ends.rows) == len(NO_REQUEST + BEGINNING)
        assert ends.lane.failure is None

    play(scenario)
