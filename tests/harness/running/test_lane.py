"""A reused lane: no effect of the previous trial may remain."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.limits.meter import CONNECTIONS, Meter
from harness.model.addresses import LaneAddress
from harness.model.errors import EnvironmentProblem
from harness.model.spec import FrameMatch
from harness.running.lane import Lane
from harness.system.port_allocator import port_block
from harness.witness import WitnessLane
from harness.witness.actions import DROP
from testkit.codes import raises_code


class Switched:
    """A proxy that is either enabled or disabled."""

    enabled = True

    async def disable(self) -> None:
        self.enabled = False

    async def enable(self) -> None:
        self.enabled = True


def test_a_rule_left_at_the_witness_is_reported() -> None:
    witness = WitnessLane(3)
    lane = Lane(3, (), witness)
    asyncio.run(lane.assert_pristine())
    witness.arm("dropped_frame-1", FrameMatch("Produce"), DROP)
    with raises_code(EnvironmentProblem, "rules-left", lane=3, names="dropped_frame-1"):
        asyncio.run(lane.assert_pristine())
    witness.disarm("dropped_frame-1")
    asyncio.run(lane.assert_pristine())


def test_connections_held_open_by_a_broker_are_not_counted_for_the_next_client() -> None:
    """A broker that still has to answer does not notice that its client has disconnected."""
    kept = []

    def begins(address: LaneAddress, broker: socket.socket) -> None:
        with socket.create_connection(address.witness) as client:
            client.sendall((30 * 2**20).to_bytes(4, "big"))
            kept.append(broker.accept()[0])
            kept[-1].settimeout(60)
            assert kept[-1].recv(4)

    async def steps(ports: list[int], broker: socket.socket) -> None:
        address = LaneAddress(3, 1, *(("127.0.0.1", port) for port in ports))
        witness = WitnessLane(3, connections=replace(CONNECTIONS, base=2))
        before, after = Meter("one", 1), Meter("the next", 1)
        await witness.open([address])
        lane = Lane(3, (Switched(),), witness)
        witness.record(lambda _: None, before)
        for _ in range(2):
            await asyncio.to_thread(begins, address, broker)
        witness.record(None, before)

        await lane.empty()

        witness.record(lambda _: None, after)
        await asyncio.to_thread(begins, address, broker)
        assert before.exceeded is after.exceeded is None
        assert lane.proxies[0].enabled
        await witness.close()

    with port_block(3) as ports, socket.create_server(("127.0.0.1", ports[2])) as broker:
        broker.settimeout(60)
        asyncio.run(asyncio.wait_for(steps(ports, broker), 60))
    for each in kept:
        each.close()


async def _stuck() -> None:
    await asyncio.Event().wait()


async def _no_file() -> None:
    raise OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    ("empty", "why"), [(_stuck, "it takes more than 0.01 s"), (_no_file, "Too many open files")]
)
def test_a_failed_emptying_is_reported_and_enables_the_proxies(empty, why) -> None:
    lane = Lane(3, (Switched(), Switched()), SimpleNamespace(empty=empty))

    with raises_code(EnvironmentProblem, "lane-not-emptied", lane=3, why=re.compile(why)):
        asyncio.run(lane.empty(timeout_s=0.01))

    assert all(proxy.enabled for proxy in lane.proxies)
