"""The witness relays every byte, raises nothing, and uses bounded memory, whatever the peers send."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from benchmarks.hostile.codec import bare_request
from benchmarks.hostile.ends import witnessed
from benchmarks.hostile.witness import run
from harness.limits.frames import MAX_TOPIC_NAMES
from harness.model.rows import Frame
from harness.model.spec import FrameMatch
from harness.wire.apis import Api
from harness.wire.frames import frame
from harness.wire.messages import encode_response, make, message_class, nested
from harness.witness import contents
from harness.witness.actions import TWICE, delay
from harness.witness.relay import Relay
from harness.witness.transcript import Transcript
from testkit.hostile import trickle

PIECE_BYTES = 30


def request(correlation_id: int, body: bytes = b"") -> bytes:
    """Return a Heartbeat request whose body cannot be decoded."""
    return bare_request(Api.HEARTBEAT, 0, correlation_id.to_bytes(4, signed=True), body)


def answer(correlation_id: int) -> bytes:
    return frame(correlation_id.to_bytes(4, signed=True), b"\0\0")


@pytest.mark.long("thousands of hostile frames")
def test_hostile_frames_are_relayed() -> None:
    assert run(seed=12, frames=3_000).found == []


@pytest.mark.parametrize("is_armed", [False, True])
def test_incomplete_frame_is_relayed_or_delayed(is_armed: bool) -> None:
    data = request(1, bytes(2_000))

    async def main() -> None:
        async with asyncio.timeout(30), witnessed() as ends:
            if is_armed:
                ends.lane.arm("r", FrameMatch("Vote", "request"), TWICE)
            async with ends.connected() as ((_, writer), (reader, _)):
                for byte in trickle(data):
                    writer.write(byte)
                    await writer.drain()
                writer.write_eof()
                assert await reader.read() == data[:-1]
            await ends.lane.idle.wait()
            assert ends.lane.failure is None

    asyncio.run(main())


def test_bytes_during_a_delay_set_no_further_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0
    go_on = Relay.go_on

    def counted(relay: Relay, side: Any) -> None:
        nonlocal looks
        looks += 1
        go_on(relay, side)

    # The number of timer calls is visible nowhere else.
    monkeypatch.setattr(Relay, "go_on", counted)
    whole = b"".join(map(request, range(1, 202)))

    async def main() -> None:
        async with asyncio.timeout(30), witnessed() as ends:
            ends.lane.arm("r", FrameMatch("Heartbeat", "request", count=100), delay(5))
            async with ends.connected() as ((_, writer), (reader, _)):
                for at in range(0, len(whole), PIECE_BYTES):
                    writer.write(whole[at : at + PIECE_BYTES])
                    await asyncio.sleep(0)
                    await writer.drain()
                assert await reader.readexactly(len(whole)) == whole
            await ends.lane.idle.wait()

    asyncio.run(main())
    pieces = len(whole) // PIECE_BYTES + 1
    # At most once per piece, twice for each of the hundred waits (a timer may fire early), and once to cancel it.
    assert looks <= pieces + 2 * 100 + 10


def test_oldest_requests_without_a_response_are_dropped() -> None:
    account = Transcript(0, 1, 1, {}, max_waiting=100)
    for number in range(150):
        assert list(account.sent(number, request(number)))
    found = [next(iter(account.answered(1, answer(number)))) for number in (0, 49, 50, 149)]
    assert [row.api for row in found] == [None, None, "Heartbeat", "Heartbeat"]


def test_response_matches_oldest_request_with_its_correlation_id() -> None:
    account = Transcript(0, 1, 1, {})
    for number in (7, 8, 7, 9):
        list(account.sent(number, request(number)))
    found = [next(iter(account.answered(1, answer(number)))).api for number in (8, 8, 7, 7, 9)]
    assert found == ["Heartbeat", None, "Heartbeat", None, "Heartbeat"]


def test_invented_topics_do_not_fill_memory() -> None:
    names: contents.TopicNames = {}
    kind = message_class(Api.METADATA, 12, "response")
    topic = nested(kind, "MetadataResponseTopic")
    for number in range(3):
        topics = tuple(
            make(topic, error_code=ErrorCode.none, name=f"t{each}", topic_id=UUID(int=each), partitions=())
            for each in range(number * 3_000 + 1, number * 3_000 + 3_001)
        )
        message = make(
            kind, throttle_time=timedelta(0), brokers=(), cluster_id="c", controller_id=1, topics=topics
        )
        contents.response_contents(encode_response(message, 1)[4:], Api.METADATA, 12, names)
    assert len(names) == MAX_TOPIC_NAMES
    assert names[UUID(int=9_000)] == "t9000"


@pytest.mark.parametrize("is_armed", [False, True])
def test_frame_that_cannot_be_decoded_is_relayed_and_noted(
    monkeypatch: pytest.MonkeyPatch, is_armed: bool
) -> None:
    def broken(*_: Any, **__: Any) -> Frame:
        raise RuntimeError("a defect of ours")

    # No known bytes make the decoding of a frame fail.
    monkeypatch.setattr(Transcript, "_request", broken)

    async def main() -> None:
        async with asyncio.timeout(30), witnessed() as ends:
            async with ends.connected() as ((_, writer), (reader, _)):
                if is_armed:
                    ends.lane.arm("r", FrameMatch("Vote", "request"), TWICE)
                writer.write(request(1))
                assert await reader.readexactly(len(request(1))) == request(1)
                writer.write(request(2) + request(3)[:-1])
                writer.write_eof()
                assert await reader.read() == request(2) + request(3)[:-1]
            await ends.lane.idle.wait()
            assert ends.lane.failure is not None
            assert "a defect of ours" in ends.lane.failure

    asyncio.run(main())
