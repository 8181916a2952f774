"""The kinds that Toxiproxy's other toxics and its listener make: seen from both sides, on one lane, and gone again."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from faults.bandwidth import FAULT as BANDWIDTH
from faults.connect_timeout import FAULT as CONNECT_TIMEOUT
from faults.dropped_request import FAULT as DROPPED_REQUEST
from faults.ghost_request import FAULT as GHOST_REQUEST
from faults.half_open import FAULT as HALF_OPEN
from faults.idle_kill import FAULT as IDLE_KILL
from faults.late_response import FAULT as LATE_RESPONSE
from faults.latency import FAULT as LATENCY
from faults.partition import FAULT as PARTITION
from faults.refuse import FAULT as REFUSE
from faults.slicer import FAULT as SLICER
from faults.torn_frame import FAULT as TORN_FRAME
from harness import registry
from harness.errors import EnvironmentProblem, UsageError
from harness.lane import LiveLane
from harness.outcome import Guarantee
from harness.plan import producer_config
from harness.ports import FaultKind
from harness.rows import FaultRow, FrameKind
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.spec import ClientRef, Elapsed, FaultSpec, TrialSpec, Workload

ALWAYS_MS = 600_000
ANSWER = b"\0\0\0\x04\0\0\0\x09"
KINDS = [
    BANDWIDTH,
    CONNECT_TIMEOUT,
    DROPPED_REQUEST,
    GHOST_REQUEST,
    HALF_OPEN,
    IDLE_KILL,
    LATE_RESPONSE,
    PARTITION,
    SLICER,
    TORN_FRAME,
]
PARAMS = {"bandwidth": {"upstream_bytes_per_s": 1_000_000}, "idle_kill": {"idle_ms": ALWAYS_MS}}
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def spec(kind: FaultKind, **params: int) -> FaultSpec:
    return FaultSpec(kind.name, Elapsed(0), 1_000, params or PARAMS.get(kind.name, {}))


def on(staged: Any, scenario: Callable[[Any], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def main() -> None:
        async with staged(**settings) as stage:
            await scenario(stage)

    asyncio.run(main())


def hits(kind: FaultKind, fault: FaultSpec, path: Any, began_ns: int) -> int:
    window = (began_ns, time.monotonic_ns())
    return kind.hits(FaultRow(0, fault, window, window), path.rows)


async def taken(client: Any) -> None:
    """Return once the proxy has read all that ``client`` has sent: nothing of it is left in its socket."""
    ends = [client.writer.get_extra_info(name)[1] for name in ("peername", "sockname")]
    while _unread(*(f"0100007F:{port:04X}" for port in ends)):  # noqa: ASYNC110
        await asyncio.sleep(0)  # what another process reads is no event


def _unread(local: str, remote: str) -> bool:
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines())
    (queues,) = (row[4] for row in rows if row[1:3] == [local, remote])
    return not queues.endswith(":00000000")


async def pending(work: Awaitable[Any], neighbour: Any) -> asyncio.Future[Any]:
    """``work`` under way, and still so after the neighbour's connection, through the same server, has had an answer."""
    task = asyncio.ensure_future(work)
    assert await (await neighbour.connect()).round_trip(1)
    assert not task.done()
    return task


def requests(path: Any) -> list[int]:
    return [row.correlation_id for row in path.rows if row.kind is FrameKind.REQUEST]


# slow


@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_bandwidth_slows_one_direction_until_it_ends(staged: Any, stream: str) -> None:
    """A hundred frames at their slowest take seconds; at the end all of them are there at once."""

    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(BANDWIDTH, **{f"{stream}_bytes_per_s": 1_000})
        client = await victim.connect()
        assert await client.round_trip(0)
        began_ns = time.monotonic_ns()
        await BANDWIDTH.start(fault, victim.lane)
        for n in range(1, 401):
            client.ask(n)

        async def all_answered() -> list[int]:
            return [await client.answer() for _ in range(400)]

        answers = await pending(all_answered(), neighbour)
        if stream == "downstream":
            await victim.seen(FrameKind.RESPONSE, 401)
            assert not answers.done()
        else:
            assert len(requests(victim)) < 401
        await BANDWIDTH.stop(fault, victim.lane)
        assert await answers == list(range(1, 401))
        assert hits(BANDWIDTH, fault, victim, began_ns) == 400
        assert hits(BANDWIDTH, fault, neighbour, began_ns) == 1
        assert await victim.canary()

    on(staged, scenario)


def test_slices_go_one_after_the_other_upstream(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(SLICER, size_bytes=1, delay_us=60_000_000)
        client = await victim.connect()
        began_ns = time.monotonic_ns()
        await SLICER.start(fault, victim.lane)
        client.ask(1)
        await victim.passed_upstream(1)
        answer = await pending(client.answer(), neighbour)
        assert not requests(victim)
        await SLICER.stop(fault, victim.lane)
        assert await answer == 1
        assert hits(SLICER, fault, victim, began_ns) == 2
        assert await victim.canary()

    on(staged, scenario)


def test_slices_go_one_after_the_other_downstream(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(SLICER, size_bytes=1, delay_us=60_000_000)
        client = await victim.connect()
        assert await client.round_trip(1)
        await SLICER.start(fault, victim.lane)
        (writer,) = victim.upstream.writers
        writer.write(b"0123456789")
        assert await client.reader.read(100) == b"0"
        rest = await pending(client.reader.readexactly(9), neighbour)
        await SLICER.stop(fault, victim.lane)
        assert await rest == b"123456789"
        assert await victim.canary()

    on(staged, scenario)


# late


def test_late_responses_arrive_when_the_gate_opens(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(LATE_RESPONSE)
        client = await victim.connect()
        assert await client.round_trip(0)
        began_ns = time.monotonic_ns()
        await LATE_RESPONSE.start(fault, victim.lane)
        for n in (1, 2, 3):
            client.ask(n)
        await victim.seen(FrameKind.RESPONSE, 4)
        first = await pending(client.answer(), neighbour)
        await LATE_RESPONSE.stop(fault, victim.lane)
        assert [await first, await client.answer(), await client.answer()] == [1, 2, 3]
        assert hits(LATE_RESPONSE, fault, victim, began_ns) == 3
        assert await client.round_trip(4) and await victim.canary()

    on(staged, scenario)


@pytest.mark.parametrize("leaves_by", ["fin", "rst"])
def test_ghost_requests_arrive_after_the_client_has_left(staged: Any, leaves_by: str) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(GHOST_REQUEST)
        leaver, stayer = await victim.connect(), await victim.connect()
        for client in (leaver, stayer):
            assert await client.round_trip(0)
            assert await victim.upstream.asked.get() == 0
        began_ns = time.monotonic_ns()
        await GHOST_REQUEST.start(fault, victim.lane)
        leaver.ask(1)
        stayer.ask(2)
        if leaves_by == "fin":
            leaver.writer.close()
        else:
            await taken(leaver)
            leaver.writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0" + bytes(4)
            )
            leaver.writer.transport.abort()
        await pending(victim.upstream.asked.get(), neighbour)
        assert victim.upstream.ends.empty()
        await GHOST_REQUEST.stop(fault, victim.lane)
        assert await stayer.answer() == 2
        assert await victim.upstream.ends.get() in (
            "fin",
            "rst",
        )  # RST to the ghost's answer, which nobody takes
        assert sorted(requests(victim)) == [0, 0, 1, 2]
        assert hits(GHOST_REQUEST, fault, victim, began_ns) == 1
        assert await stayer.round_trip(3) and await victim.canary()

    on(staged, scenario)


# swallowed


def test_dropped_requests_never_arrive_and_the_connection_ends(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(DROPPED_REQUEST)
        old, bystander = await victim.connect(), await neighbour.connect()
        assert await old.round_trip(1)
        began_ns = time.monotonic_ns()
        await DROPPED_REQUEST.start(fault, victim.lane)
        new = await victim.connect()
        old.ask(2)
        new.ask(3)
        for client in (old, new):
            await taken(client)
        reading = [await pending(client.reader.read(), neighbour) for client in (old, new)]
        assert await bystander.round_trip(2)
        assert victim.upstream.ends.empty()
        await DROPPED_REQUEST.stop(fault, victim.lane)
        assert [await end for end in reading] == [b"", b""]
        assert [await victim.upstream.ends.get() for _ in range(2)] == ["fin", "fin"]
        assert requests(victim) == [1]
        assert hits(DROPPED_REQUEST, fault, victim, began_ns) == 2
        assert await bystander.round_trip(3) and await victim.canary()

    on(staged, scenario)


@pytest.mark.parametrize("ways", [(1, 1), (1, 0), (0, 1)])
def test_silent_partitions_swallow_both_ways_or_one(staged: Any, ways: tuple[int, int]) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        upstream, downstream = ways
        fault = spec(PARTITION, upstream=upstream, downstream=downstream)
        client, bystander = await victim.connect(), await neighbour.connect()
        assert await client.round_trip(1) and await bystander.round_trip(1)
        began_ns = time.monotonic_ns()
        await PARTITION.start(fault, victim.lane)
        client.ask(2)
        await taken(client)
        reading = await pending(client.reader.read(), neighbour)
        if upstream:
            victim.upstream.writers[0].write(ANSWER)
        await victim.seen(FrameKind.RESPONSE, 2)
        assert victim.upstream.ends.empty() and await bystander.round_trip(2)
        await PARTITION.stop(fault, victim.lane)
        assert await reading == (b"" if downstream else ANSWER)
        assert await victim.upstream.ends.get() == "fin"
        assert requests(victim) == ([1] if upstream else [1, 2])
        assert hits(PARTITION, fault, victim, began_ns) == 1
        assert await bystander.round_trip(3) and await victim.canary()

    on(staged, scenario)


def test_a_loud_partition_refuses(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(PARTITION, loud=1)
        client, bystander = await victim.connect(), await neighbour.connect()
        assert await client.round_trip(1) and await bystander.round_trip(1)
        began_ns = time.monotonic_ns()
        await PARTITION.start(fault, victim.lane)
        assert await client.reader.read() == b""
        assert await victim.upstream.ends.get() == "fin"
        with pytest.raises(ConnectionRefusedError):
            await victim.connect()
        assert await bystander.round_trip(2)
        await PARTITION.stop(fault, victim.lane)
        assert hits(PARTITION, fault, victim, began_ns) == 1
        assert hits(PARTITION, fault, neighbour, began_ns) == 0
        assert await victim.canary()

    on(staged, scenario)


def test_idle_connections_are_killed(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(IDLE_KILL, idle_ms=20)
        clients = [await victim.connect() for _ in range(3)]
        bystander = await neighbour.connect()
        for client in (*clients, bystander):
            assert await client.round_trip(1)
        began_ns = time.monotonic_ns()
        await IDLE_KILL.start(fault, victim.lane)
        assert [await client.reader.read() for client in clients] == [b""] * 3
        assert [await victim.upstream.ends.get() for _ in clients] == ["fin"] * 3
        assert await (await victim.connect()).reader.read() == b""
        assert await bystander.round_trip(2)
        await IDLE_KILL.stop(fault, victim.lane)
        await victim.seen(FrameKind.CLOSE, 4)
        assert hits(IDLE_KILL, fault, victim, began_ns) == 4
        assert hits(IDLE_KILL, fault, neighbour, began_ns) == 0
        assert await victim.canary()

    on(staged, scenario)


# half open


def test_a_client_that_is_not_told(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(HALF_OPEN)
        clients = [await victim.connect() for _ in range(2)]
        for client in clients:
            assert await client.round_trip(1)
        began_ns = time.monotonic_ns()
        await HALF_OPEN.start(fault, victim.lane)
        assert [await victim.upstream.ends.get() for _ in clients] == ["fin", "fin"]
        clients[0].ask(2)
        reading = [await pending(client.reader.read(), neighbour) for client in clients]
        new = await victim.connect()
        assert await new.round_trip(3)
        assert not any(task.done() for task in reading)
        assert hits(HALF_OPEN, fault, victim, began_ns) == 2
        assert hits(HALF_OPEN, fault, neighbour, began_ns) == 0
        await HALF_OPEN.stop(fault, victim.lane)
        assert await reading[1] == b""
        assert await asyncio.gather(reading[0], return_exceptions=True)
        assert 2 not in requests(victim)
        assert await new.round_trip(4) and await victim.canary()

    on(staged, scenario)


def test_a_broker_that_is_not_told(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(HALF_OPEN, unaware_broker=1)
        client, bystander = await victim.connect(), await neighbour.connect()
        assert await client.round_trip(1) and await bystander.round_trip(1)
        began_ns = time.monotonic_ns()
        await HALF_OPEN.start(fault, victim.lane)
        assert await client.reader.read() == b""
        new = await victim.connect()
        assert await new.round_trip(2) and await bystander.round_trip(2)
        victim.upstream.writers[0].write(ANSWER)
        await victim.seen(FrameKind.RESPONSE, 3)
        assert victim.upstream.ends.empty()
        assert not [row for row in victim.rows if row.kind is FrameKind.CLOSE]
        await HALF_OPEN.stop(fault, victim.lane)
        await victim.seen(FrameKind.CLOSE)
        assert hits(HALF_OPEN, fault, victim, began_ns) == 1
        assert await new.round_trip(3) and await victim.canary()

    on(staged, scenario)


# torn


@pytest.mark.parametrize("at_byte", [0, 2, 4, 6, 15])
@pytest.mark.parametrize("reset", [0, 1])
def test_a_response_is_torn_at_its_byte(staged: Any, at_byte: int, reset: int) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        assert at_byte < victim.response_bytes
        fault = spec(TORN_FRAME, at_byte=at_byte, reset=reset)
        await TORN_FRAME.prepare(fault, victim.lane)
        loop = asyncio.get_running_loop()
        with socket.socket() as torn:  # without a buffer in which RST would overtake the bytes
            torn.setblocking(False)
            await loop.sock_connect(torn, victim.proxy.address.advertised)
            spared, bystander = await victim.connect(), await neighbour.connect()
            assert await spared.round_trip(1) and await bystander.round_trip(1)
            began_ns = time.monotonic_ns()
            await TORN_FRAME.start(fault, victim.lane)
            await loop.sock_sendall(torn, victim.request_of(7))
            got = b""
            try:
                while data := await loop.sock_recv(torn, 100):
                    got += data
                assert not reset
            except ConnectionResetError:
                assert reset
        assert len(got) == at_byte
        assert await bystander.round_trip(2)
        await TORN_FRAME.stop(fault, victim.lane)
        assert await victim.upstream.ends.get() == ("rst" if reset else "fin")
        assert 7 in requests(victim)
        assert hits(TORN_FRAME, fault, victim, began_ns) == 1
        assert hits(TORN_FRAME, fault, neighbour, began_ns) == 0
        assert await spared.round_trip(3) and await victim.canary()

    on(staged, scenario)


@pytest.mark.parametrize("at_byte", [0, 3, 9])
def test_a_request_is_torn_at_its_byte(staged: Any, at_byte: int) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(TORN_FRAME, upstream=1, at_byte=at_byte)
        torn, spared = await victim.connect(), await victim.connect()
        assert await torn.round_trip(1) and await spared.round_trip(1)
        began_ns = time.monotonic_ns()
        await TORN_FRAME.start(fault, victim.lane)
        torn.ask(2)
        assert await torn.reader.read() == b""
        assert await (await neighbour.connect()).round_trip(1)
        await victim.seen(FrameKind.OPAQUE if at_byte else FrameKind.CLOSE)
        assert [row.size_bytes for row in victim.rows if row.kind is FrameKind.OPAQUE] == [at_byte] * (
            at_byte > 0
        )
        assert requests(victim) == [1, 1]
        await TORN_FRAME.stop(fault, victim.lane)
        assert hits(TORN_FRAME, fault, victim, began_ns) == 1
        assert await spared.round_trip(3) and await victim.canary()

    on(staged, scenario)


# not answered


def test_attempts_to_connect_wait_until_it_ends(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        fault = spec(CONNECT_TIMEOUT)
        client, bystander = await victim.connect(), await neighbour.connect()
        assert await client.round_trip(1) and await bystander.round_trip(1)
        began_ns = time.monotonic_ns()
        await CONNECT_TIMEOUT.start(fault, victim.lane)
        assert await client.reader.read() == b""
        assert await victim.upstream.ends.get() == "fin"
        connecting = [await pending(victim.connect(), neighbour) for _ in range(3)]
        await CONNECT_TIMEOUT.stop(fault, victim.lane)
        for new in await asyncio.gather(*connecting):
            assert await new.round_trip(2)
        assert hits(CONNECT_TIMEOUT, fault, victim, began_ns) == 1
        assert hits(CONNECT_TIMEOUT, fault, neighbour, began_ns) == 0
        assert await bystander.round_trip(2) and await victim.canary()

    on(staged, scenario)


@pytest.mark.parametrize("refusal_first", [True, False])
def test_a_refusal_outdoes_silence_and_both_end_alone(staged: Any, refusal_first: bool) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        both = [(REFUSE, spec(REFUSE)), (CONNECT_TIMEOUT, spec(CONNECT_TIMEOUT))]
        for kind, fault in both if refusal_first else reversed(both):
            await kind.start(fault, victim.lane)
        with pytest.raises(ConnectionRefusedError):
            await victim.connect()
        await REFUSE.stop(both[0][1], victim.lane)
        connecting = await pending(victim.connect(), neighbour)
        await CONNECT_TIMEOUT.stop(both[1][1], victim.lane)
        assert await (await connecting).round_trip(1) and await victim.canary()

    on(staged, scenario)


def test_a_port_that_cannot_be_had_is_named_and_given_back(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = spec(CONNECT_TIMEOUT)
        await victim.proxy.disable()
        with (
            socket.create_server(victim.proxy.address.advertised),
            pytest.raises(EnvironmentProblem, match="cannot be had"),
        ):
            await CONNECT_TIMEOUT.start(fault, victim.lane)
        await CONNECT_TIMEOUT.stop(fault, victim.lane)
        assert await victim.canary()

    on(staged, scenario, lanes=1)


# all of them


@each_kind
def test_hits_are_none_without_traffic_or_effect(kind: FaultKind, staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = spec(kind)
        assert await (await victim.connect()).round_trip(1)
        assert kind.hits(FaultRow(0, fault, (0, 2**62), None), victim.rows) == 0
        assert hits(kind, fault, victim, time.monotonic_ns()) == 0
        elsewhere = FaultSpec(kind.name, Elapsed(0), 1_000, fault.params, brokers=(2,))
        assert kind.hits(FaultRow(0, elsewhere, (0, 2**62), (0, 2**62)), victim.rows) == 0

    on(staged, scenario, lanes=1)


@each_kind
def test_stop_works_after_a_start_that_failed_half_way_and_more_than_once(
    kind: FaultKind, staged: Any
) -> None:
    async def scenario(stage: Any) -> None:
        both = LiveLane(tuple(path.proxy for path in stage.paths), stage.paths[0].witness, None, "t")
        fault = spec(kind)
        await kind.prepare(fault, both)
        await kind.start(fault, stage.paths[0].lane)
        await kind.stop(fault, both)
        await kind.stop(fault, both)
        for path in stage.paths:
            assert await path.canary()

    on(staged, scenario)


@each_kind
def test_it_ends_beside_another_fault_and_leaves_that_alone(kind: FaultKind, staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault, beside = spec(kind), spec(LATENCY, upstream_ms=1, downstream_ms=1)
        client = await victim.connect()
        assert await client.round_trip(1)
        await kind.start(fault, victim.lane)
        await LATENCY.start(beside, victim.lane)
        client.ask(2)
        await kind.stop(fault, victim.lane)
        assert not await victim.proxy.pristine()
        assert await (await victim.connect()).round_trip(3)
        await LATENCY.stop(beside, victim.lane)
        assert await victim.canary()

    on(staged, scenario, lanes=1)


def test_prepare_without_start_is_undone_by_stop(staged: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = spec(TORN_FRAME, reset=1)
        await TORN_FRAME.prepare(fault, victim.lane)
        assert not await victim.proxy.pristine()
        await TORN_FRAME.stop(fault, victim.lane)
        assert await victim.canary()

    on(staged, scenario, lanes=1)


@pytest.mark.parametrize(
    ("kind", "params", "said"),
    [
        (BANDWIDTH, {}, "needs upstream_bytes_per_s or downstream_bytes_per_s above 0"),
        (BANDWIDTH, {"upstream_bytes_per_s": 1_500}, "must be whole thousands .* not 1500"),
        (SLICER, {"size_bytes": 0}, "must be 1 to 1048576, not 0"),
        (HALF_OPEN, {"unaware_broker": 2}, "must be 0 to 1, not 2"),
        (PARTITION, {"upstream": 0, "downstream": 0}, "needs upstream or downstream"),
        (PARTITION, {"loud": 1, "downstream": 0}, "cannot be loud and one way only"),
        (IDLE_KILL, {"idle_ms": 0}, "must be 1 to 600000, not 0"),
        (TORN_FRAME, {"at_bytes": 1}, "did you mean 'at_byte'"),
        (LATE_RESPONSE, {"delay_ms": 1}, "unknown parameter of fault 'late_response'"),
    ],
)
def test_parameters_are_checked_before_anything_runs(
    kind: FaultKind, params: dict[str, int], said: str
) -> None:
    fault = FaultSpec(kind.name, Elapsed(0), 1_000, params)
    with pytest.raises(UsageError, match=said):
        asyncio.run(kind.prepare(fault, LiveLane((), None, None, "t")))


@each_kind
def test_the_page_of_a_kind_has_its_sections(kind: FaultKind) -> None:
    page = sys.modules[type(kind).__module__].__doc__ or ""
    sections = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert sections == [
        "What it does",
        "What it probes",
        "How it is made",
        "Where it is seen",
        "What it cannot do",
    ]
    assert registry.fault(kind.name) is kind


# in virtual time


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (LATE_RESPONSE, {}),
        (GHOST_REQUEST, {}),
        (PARTITION, {}),
        (PARTITION, {"loud": 1}),
        (PARTITION, {"upstream": 0}),
        (PARTITION, {"downstream": 0}),
        (HALF_OPEN, {"unaware_broker": 1}),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_in_the_simulated_world_it_hits_and_ends(kind: FaultKind, params: dict[str, int]) -> None:
    fault = FaultSpec(kind.name, Elapsed(1_500), 4_000, params)
    trial = TrialSpec(
        trial="t",
        client=ClientRef("reference", registry.client("reference").default_version),
        broker="scripted:4.3.1x1",
        scenario="generated/any",
        guarantee=Guarantee.IDEMPOTENT,
        seed=1,
        workload=Workload(records=100, chunk=10, interval_ms=1_000, partitions=2, value_bytes=64),
        faults=(fault,),
        config=producer_config(Guarantee.IDEMPOTENT, "none", {"request.timeout.ms": 1_000}),
    )
    evidence = SimulatedTrial(trial, RUN_ID).run()
    (row,) = evidence.faults
    assert row.effective_ns is not None and row.hits and row.hits > 0
    assert len({(record.partition, record.offset) for record in evidence.log}) >= 100
