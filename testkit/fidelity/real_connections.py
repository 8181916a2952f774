"""Connections to real brokers: one for each node that plans ask in turn, and one for each request that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from harness.brokers.connection import BrokerConnection
from harness.brokers.local import LocalCluster
from harness.wire.apis import Api
from harness.wire.frames import SIZE_BYTES
from harness.wire.messages import encode_request, make, message_class, nested
from testkit.fidelity.sides import Heard, Nothing

ANSWER_TIMEOUT_S: Final = 20.0
#: The limit for a response that the other side has.
EXPECTED_WITHIN_S: Final = 8.0
#: A stream needs several turns of the event loop to hand over a response that has arrived.
_LOOPS_TO_READ: Final = 8
_PROBE: Final = encode_request(make(message_class(Api.API_VERSIONS, 0, "request")), 0, "fidelity")
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class RealConnections:
    """The connections to the nodes of a local cluster."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self._raw: dict[int, _Streams] = {}
        self._idle: dict[int, list[_Streams]] = {}
        self._begun: dict[int, tuple[int, _Streams, asyncio.Task[Heard]]] = {}

    async def close(self) -> None:
        """Close all connections."""
        for node_id in list(self._raw):
            self._drop(node_id)
        await self.abandon()
        for _, writer in (streams for idle in self._idle.values() for streams in idle):
            writer.transport.abort()

    # Raw frames

    async def ask(self, node_id: int, frame: bytes, *, answered: bool) -> Heard:
        """Send a frame. If no response is due, an ApiVersions request after it shows whether the connection is open."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                reader, writer = await self._connected(node_id)
                writer.write(frame if answered else frame + _PROBE)
                await writer.drain()
                size_bytes = int.from_bytes(await reader.readexactly(SIZE_BYTES))
                payload = await reader.readexactly(size_bytes)
        except (OSError, EOFError) as error:
            self._drop(node_id)
            if isinstance(error, TimeoutError):
                raise
            return Nothing.CLOSED
        return payload if answered else Nothing.SILENCE

    async def _connected(self, node_id: int) -> _Streams:
        if node_id not in self._raw:
            self._raw[node_id] = await self._connect(node_id)
        return self._raw[node_id]

    async def _connect(self, node_id: int) -> _Streams:
        address = self.cluster.internal_addresses.get(node_id)
        if address is None:
            raise ConnectionRefusedError
        return await BrokerConnection(address, credentials=self.cluster.credentials).streams()

    def _drop(self, node_id: int) -> None:
        if (streams := self._raw.pop(node_id, None)) is not None:
            streams[1].transport.abort()

    # Requests that wait

    async def begin(self, number: int, node_id: int, frame: bytes) -> None:
        """Send a request on a connection that no other one uses, and read its response in the background."""
        idle = self._idle.setdefault(node_id, [])
        streams = idle.pop() if idle else await self._connect(node_id)
        streams[1].write(frame)
        self._begun[number] = node_id, streams, asyncio.create_task(_response(streams[0]))

    async def collect(self, numbers: frozenset[int], expected: frozenset[int] | None) -> Mapping[int, Heard]:
        """Wait for the responses that the other side has, and then until the brokers have handled all requests."""
        tasks = {number: self._begun[number][2] for number in numbers}
        awaited = [tasks[number] for number in numbers & (expected or frozenset())]
        if awaited:
            await asyncio.wait(awaited, timeout=EXPECTED_WITHIN_S)
        if not all(task.done() for task in tasks.values()):
            for node_id in sorted({self._begun[number][0] for number in numbers}):
                await self._until_handled(node_id)
        for _ in range(_LOOPS_TO_READ):
            await asyncio.sleep(0)
        return {number: self._finished(number) for number, task in tasks.items() if task.done()}

    async def _until_handled(self, node_id: int) -> None:
        """Return once the node has handled every request that was sent to it before, and has sent what it could."""
        raise NotImplementedError

    def _finished(self, number: int) -> Heard:
        node_id, streams, task = self._begun.pop(number)
        heard = task.result()
        if isinstance(heard, Nothing):
            streams[1].transport.abort()
        else:
            self._idle.setdefault(node_id, []).append(streams)
        return heard

    async def abandon(self) -> None:
        """Close the connections of all requests that still wait."""
        for _, streams, task in self._begun.values():
            task.cancel()
            streams[1].transport.abort()
        self._begun.clear()

    async def wait(self, duration_ms: int) -> None:
        """Sleep."""
        await asyncio.sleep(duration_ms / 1000)


async def _response(reader: asyncio.StreamReader) -> Heard:
    try:
        return await reader.readexactly(int.from_bytes(await reader.readexactly(SIZE_BYTES)))
    except (OSError, EOFError):
        return Nothing.CLOSED


def probe_commit(version: int, topic_name: str) -> dict[str, Any]:
    """Return the fields of an OffsetCommit that does not change what plans see."""
    kind = message_class(Api.OFFSET_COMMIT, version, "request")
    part = make(
        nested(kind, "OffsetCommitRequestPartition"),
        partition_index=0,
        committed_offset=0,
        committed_leader_epoch=-1,
        committed_metadata=None,
    )
    topic = make(nested(kind, "OffsetCommitRequestTopic"), name=topic_name, partitions=(part,))
    return {
        "group_id": "fidelity.probe",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": (topic,),
    }
