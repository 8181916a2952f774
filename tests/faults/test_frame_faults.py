"""Faults on single frames: only the matching frame of one lane is affected, as seen from both sides."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.rows import Disposition, FaultRow, Frame, FrameKind
from harness.model.spec import AtTime, FaultSpec, FrameMatch
from harness.plugins.fault import toxic_name
from harness.plugins.registry import fault as fault_kind
from harness.wire.apis import Api
from harness.wire.messages import client_versions, decode_response, encode_response, message_class
from testkit.codes import coded, raises_code

pytestmark = pytest.mark.long("real sockets, and faults that take their time")

API = "ApiVersions"


@pytest.fixture
def on_lane(on_stage: Any) -> Callable[..., None]:
    """Return ``on_lane(scenario)``, which runs a scenario on one lane and checks all other connections."""

    def play(scenario: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        async def beside_a_neighbour(stage: Any) -> None:
            victim, neighbour = stage.paths
            await scenario(victim)
            assert not any(row.fault for row in neighbour.rows)

        on_stage(beside_a_neighbour, beside=True)

    return play


@asynccontextmanager
async def under(
    path: Any, kind: str, match: FrameMatch | None = None, *, hits: int, **params: int
) -> AsyncIterator[None]:
    """Put the fault into effect, by default on ApiVersions. It is stopped more than once."""
    async with path.under(kind, match or FrameMatch(API), hits=hits, **params) as fault:
        await fault.start()
        for bystander in path.bystanders:
            # more frames pass on the other lane than a rule waits for before it acts
            assert bystander.path is path or await bystander.is_served()
        yield
        await fault.stop()
        await fault.stop()
    assert fault.hits(path) == hits  # the canary connection has not met the rule either


async def at_end(client: Any) -> bytes:
    return await client.reader.read()


@pytest.mark.control(
    "dropped_frame",
    client="the third of five responses never arrives; the following ones do, on the same connection",
    broker="all five requests arrive",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_third_response_is_dropped(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "dropped_frame", FrameMatch(API, first=3), hits=1):
            for n in range(1, 6):
                client.ask(n)
            assert [await client.answer() for _ in range(4)] == [1, 2, 4, 5]
            assert victim.upstream.arrived() == [1, 2, 3, 4, 5]
        assert [row.correlation_id for row in victim.rows if row.disposition == "blocked"] == [3]

    on_lane(scenario)


@pytest.mark.control(
    "dropped_frame",
    client="the second of three requests gets no response; the third does",
    broker="the second request does not arrive; the third does, on the same connection",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_dropped_request_never_arrives(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "dropped_frame", FrameMatch(API, "request", first=2), hits=1):
            for n in range(1, 4):
                client.ask(n)
            assert [await client.answer() for _ in range(2)] == [1, 3]
            assert victim.upstream.arrived() == [1, 3]

    on_lane(scenario)


@pytest.mark.parametrize(("end", "how"), [(1, "fin"), (2, "rst")])
@pytest.mark.control(
    "dropped_frame",
    client="no response arrives, and the connection ends with FIN",
    broker="the request arrives; its connection ends with FIN or RST, as configured",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_dropped_frame_can_end_its_connection_only(on_lane: Any, end: int, how: str) -> None:
    async def scenario(victim: Any) -> None:
        client, beside = await victim.connect(), await victim.connect()
        assert await beside.round_trip(7)
        async with under(victim, "dropped_frame", FrameMatch(API, first=1), end=end, hits=1):
            client.ask(1)
            assert await at_end(client) == b""  # Toxiproxy forwards an RST as FIN
            assert await victim.upstream.ends.get() == how
            assert victim.upstream.arrived() == [7, 1]
            assert await beside.round_trip(8)

    on_lane(scenario)


@pytest.mark.parametrize("at_byte", [0, 2, 4, 6, 1_000])
@pytest.mark.control(
    "close_at_frame",
    client="only the first bytes of the second response arrive, then FIN",
    broker="both requests arrive; the connection ends with FIN",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_frame_is_cut_at_a_byte(on_lane: Any, at_byte: int) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        size = victim.response_bytes
        async with under(victim, "close_at_frame", FrameMatch(API, first=2), at_byte=at_byte, hits=1):
            assert await client.round_trip(1)
            client.ask(2)
            assert len(await at_end(client)) == min(at_byte, size - 1)
            assert await victim.upstream.ends.get() == "fin"
            assert victim.upstream.arrived() == [1, 2]

    on_lane(scenario)


@pytest.mark.control(
    "close_at_frame",
    client="the whole response arrives, immediately followed by FIN",
    broker="the connection ends with FIN",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_connection_ends_after_a_whole_frame(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "close_at_frame", hits=1):
            assert await client.round_trip(1)
            assert await at_end(client) == b""
            assert await victim.upstream.ends.get() == "fin"
        assert [row.closed_by for row in victim.rows if row.kind is FrameKind.CLOSE][:1] == [None]

    on_lane(scenario)


@pytest.mark.control(
    "late_frame",
    client="the response arrives 300 ms late, and the next one after it",
    broker="both requests arrive",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_late_frame_delays_the_following_ones(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client, beside = await victim.connect(), await victim.connect()
        assert await client.round_trip(1) and await beside.round_trip(1)
        async with under(victim, "late_frame", delay_ms=300, hits=1):
            asked_ns = time.monotonic_ns()
            client.ask(2)
            client.ask(3)
            assert await client.answer() == 2
            assert time.monotonic_ns() - asked_ns >= 300_000_000
            assert await client.answer() == 3
            assert victim.upstream.arrived() == [1, 1, 2, 3]
            assert await beside.round_trip(4)
        [late] = [row for row in victim.rows if row.disposition == "delayed"]
        assert late.t_ns - asked_ns >= 300_000_000

    on_lane(scenario)


@pytest.mark.control(
    "held_frame",
    client="the response arrives when the fault ends",
    broker="the request arrives before that",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_held_response_is_released_when_the_fault_ends(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client, beside = await victim.connect(), await victim.connect()
        async with under(victim, "held_frame", hits=1):
            client.ask(1)
            assert await victim.upstream.asked.get() == 1
            assert await beside.round_trip(5)
            # asyncio has no public way to see that nothing has arrived without waiting for it.
            assert not client.reader._buffer
        assert await client.answer() == 1

    on_lane(scenario)


@pytest.mark.control(
    "held_frame",
    client="it sends a request and disconnects",
    broker="the request arrives when the fault ends, followed by FIN",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_ghost_request_arrives_after_its_client_disconnected(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "held_frame", FrameMatch(API, "request"), hits=1):
            client.ask(1)
            client.writer.close()
            await victim.seen(FrameKind.CLOSE)
            assert not victim.upstream.arrived()
        assert await victim.upstream.ends.get() == "fin"
        assert victim.upstream.arrived().index(1) >= 2  # two of a bystander's had arrived before

    on_lane(scenario)


@pytest.mark.parametrize("direction", ["request", "response"])
def test_slices_arrive_as_the_original_frame(on_lane: Any, direction: str) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "sliced_frame", FrameMatch(API, direction, count=2), hits=2):
            for n in (1, 2, 3):
                client.ask(n)
            assert [await client.answer() for _ in range(3)] == [1, 2, 3]

    on_lane(scenario)


@pytest.mark.control(
    "sliced_frame",
    client="eight bytes of the response arrive first and the rest later; the response is intact",
    broker="the request arrives once",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_slices_can_be_read_separately(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "sliced_frame", size_bytes=8, gap_us=500_000, hits=1):
            asked_ns = time.monotonic_ns()
            client.ask(1)
            first = await client.reader.read(100)
            assert len(first) == 8
            assert victim.upstream.arrived() == [1]
            whole = victim.response_of(1)
            assert first + await client.reader.readexactly(len(whole) - 8) == whole
            assert time.monotonic_ns() - asked_ns >= (len(whole) - 1) // 8 * 500_000_000

    on_lane(scenario)


@pytest.mark.control(
    "swapped_responses",
    client="the second of four responses arrives after the third",
    broker="the requests arrive in order",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_two_responses_are_swapped(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "swapped_responses", FrameMatch(API, first=2), hits=1):
            for n in range(1, 5):
                client.ask(n)
            assert [await client.answer() for _ in range(4)] == [1, 3, 2, 4]
            assert victim.upstream.arrived() == [1, 2, 3, 4]
        told = [row.correlation_id for row in victim.rows if row.kind is FrameKind.RESPONSE]
        assert told[1:5] == [1, 3, 2, 4]  # after the bystander's

    on_lane(scenario)


def test_last_response_is_released_when_the_fault_ends(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client, beside = await victim.connect(), await victim.connect()
        async with under(victim, "swapped_responses", hits=0):
            client.ask(1)
            assert await victim.upstream.asked.get() == 1
            assert await beside.round_trip(5)
        assert await client.answer() == 1

    on_lane(scenario)


@pytest.mark.parametrize("kind", ["held_frame", "swapped_responses"])
def test_frame_waiting_at_the_end_of_its_connection_is_not_a_hit(kind: str) -> None:
    spec = FaultSpec(kind, AtTime(0), 1, frames=FrameMatch(API))
    passed = Frame(
        2, 0, 1, 1, FrameKind.RESPONSE, api=API, fault=toxic_name(spec), disposition=Disposition.DELAYED
    )
    gone = msgspec.structs.replace(passed, disposition=Disposition.BLOCKED)
    assert fault_kind(kind).hits(FaultRow(0, spec, (1, 9), (1, 9)), [passed, gone, gone]) == 1


@given(data=st.data())
@settings(max_examples=20)
def test_metadata_omits_the_target_broker(messages: Any, data: st.DataObject) -> None:
    """The target may be the stated leader. Without a target, or with an unknown id, all brokers are listed.

    The stated leader is always a broker of that cluster.
    """
    version = data.draw(st.integers(*client_versions(Api.METADATA)))
    before = data.draw(messages(message_class(Api.METADATA, version, "response")))
    node_ids = [int(broker.node_id) for broker in before.brokers]
    unnamed = data.draw(st.sampled_from([None, 99, *(node for node in node_ids if node >= 0)]))
    leader = data.draw(st.sampled_from([7, *(node for node in node_ids if node >= 0)]))
    params = {"leader_id": leader} | ({} if unnamed is None else {"unnamed_id": unnamed})
    spec = FaultSpec("stale_metadata", AtTime(0), 1, params)
    row = Frame(1, 0, 1, 1, FrameKind.RESPONSE, api_key=Api.METADATA, api_version=version)
    [sent] = fault_kind("stale_metadata").action(spec).steps(encode_response(before, 5), row)  # type: ignore[attr-defined]
    _, after = decode_response(sent.data[4:], Api.METADATA, version)
    assert [broker.node_id for broker in after.brokers] == [
        n for n in node_ids if unnamed is None or n != unnamed
    ]
    leads = [part.leader_id for topic in after.topics for part in topic.partitions]
    led = [part.leader_id for topic in before.topics for part in topic.partitions]
    assert leads == ([leader] * len(led) if leader in node_ids else led)


@pytest.mark.control(
    "duplicated_response",
    client="the second of three responses arrives twice",
    broker="each request arrives once",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_response_is_duplicated(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "duplicated_response", FrameMatch(API, first=2), hits=1):
            for n in range(1, 4):
                client.ask(n)
            assert [await client.answer() for _ in range(4)] == [1, 2, 2, 3]
            assert victim.upstream.arrived() == [1, 2, 3]

    on_lane(scenario)


@pytest.mark.control(
    "wrong_correlation_id",
    client=(
        "the response has the id of no request, and is otherwise as the broker wrote it; the next has its own"
    ),
    broker="each request arrives with its own id",
    untouched="neighbour lane and same lane: an open connection and new ones, during the fault and afterwards",
)
def test_response_without_a_request_arrives(on_lane: Any) -> None:
    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        async with under(victim, "wrong_correlation_id", hits=1):
            client.ask(1)
            client.ask(2)
            stranger = await client.frame()
            assert int.from_bytes(stranger[:4]) == 1 ^ 0x7FFF_FFFF
            assert stranger[4:] == victim.response_of(1)[8:]
            assert await client.answer() == 2
            assert victim.upstream.arrived() == [1, 2]

    on_lane(scenario)


def test_rule_set_in_the_middle_of_a_frame_starts_with_the_next(on_lane: Any) -> None:
    """The frame that has begun passes. The next one is the first that counts."""

    async def scenario(victim: Any) -> None:
        client = await victim.connect()
        assert await client.round_trip(1)
        whole = victim.request_of(2)
        client.writer.write(whole[:7])
        await victim.passed_upstream(7)
        async with under(victim, "dropped_frame", FrameMatch(API, "request"), hits=1):
            client.writer.write(whole[7:])
            client.ask(3)
            client.ask(4)
            assert [await client.answer() for _ in range(2)] == [2, 4]

    on_lane(scenario)


@pytest.mark.parametrize(
    ("match", "said"),
    [
        (None, "fault-without-frames"),
        (FrameMatch("Produces"), coded("frames-api-unknown", api="Produces")),
        (FrameMatch("Produce", "request"), coded("frames-direction", meant="response", direction="request")),
        (FrameMatch("Produce", first=0), "frames-first-and-count"),
    ],
)
def test_frame_match_is_checked_before_a_run(match: FrameMatch | None, said: str) -> None:
    fault = FaultSpec("wrong_correlation_id", AtTime(0), 1, frames=match)
    with raises_code(UsageError, said):
        fault_kind(fault.kind).check(fault, Mode.LIVE)
