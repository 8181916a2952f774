"""Turn packets into connections: the TCP events and whole Kafka frames of each, and their rows. Pure.

A connection starts with a client's SYN, so a reused port makes another connection. Packets of a connection whose start
was not captured belong to an earlier trial and are ignored.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.capture.flows import Cutter, Flow
from harness.capture.packets import Flags, Segment, segment
from harness.capture.pcapng import Recording
from harness.model.tcp_facts import By, TcpFact, What

_REQUEST = struct.Struct(">ihhih")
_RESPONSE = struct.Struct(">ii")


@dataclass(frozen=True)
class CapturedFrame:
    """A frame whose last byte was captured at ``t_ns``. ``data`` includes its size field. A response has no API key."""

    t_ns: int
    data: bytes
    correlation_id: int
    api_key: int | None = None
    api_version: int | None = None
    client_id: str | None = None

    @property
    def size_bytes(self) -> int:
        """The size including the size field, as in the witness's rows."""
        return len(self.data)


@dataclass
class Side:
    """The data of one side. ``frames`` are the client's requests or the proxy's responses."""

    by: By
    flow: Flow = field(default_factory=Flow)
    cutter: Cutter = field(default_factory=Cutter)
    frames: list[CapturedFrame] = field(default_factory=list)
    seen: set[What] = field(default_factory=set)
    is_shut: bool = False


@dataclass
class CapturedConnection:
    """One connection of a client to a broker's proxy, from its SYN at ``begun_ns`` on."""

    number: int
    broker: int
    client_port: int
    begun_ns: int
    client: Side = field(default_factory=lambda: Side(By.CLIENT))
    proxy: Side = field(default_factory=lambda: Side(By.PROXY))
    facts: list[TcpFact] = field(default_factory=list)

    @property
    def requests(self) -> list[CapturedFrame]:
        """The client's requests, in order."""
        return self.client.frames

    @property
    def responses(self) -> list[CapturedFrame]:
        """The responses to the client, in order."""
        return self.proxy.frames

    @property
    def is_gapped(self) -> bool:
        """True if packets are missing."""
        return self.client.flow.is_gapped or self.proxy.flow.is_gapped

    @property
    def is_unread(self) -> bool:
        """True if part of it could not be read, because packets are missing or the bytes are not Kafka."""
        return self.is_gapped or self.client.cutter.is_lost or self.proxy.cutter.is_lost

    @property
    def rows(self) -> Iterator[TcpFact]:
        """The rows of TCP events and frames."""
        yield from self.facts
        for side in (self.client, self.proxy):
            for frame in side.frames:
                yield self._row(frame.t_ns, What.FRAME, side.by, frame.correlation_id, frame.size_bytes)

    def feed(self, packet: Segment, side: Side) -> None:
        """Process one segment that ``side`` sent."""
        flags = packet.flags
        if flags & Flags.RST:
            accepted = What.SYN in self.proxy.seen
            self._once(packet, side, What.RST if accepted else What.REFUSED)
            return
        start = packet.seq
        if flags & Flags.SYN:
            if not self._once(packet, side, What.SYN):
                self._tell(packet, side, What.RETRANSMISSION)
            else:
                side.flow.begin(packet.seq + 1)
            start += 1
        else:
            self._look_at_window(packet, side)
        ends = bool(flags & Flags.FIN)
        data, is_repeated = side.flow.take(start, packet.payload, is_last=ends)
        ends_again = ends and not self._once(packet, side, What.FIN)
        if is_repeated or ends_again:
            self._tell(packet, side, What.RETRANSMISSION)
        read = _request if side is self.client else _response
        side.frames += [read(packet.t_ns, one) for one in side.cutter.feed(data)]

    def _look_at_window(self, packet: Segment, side: Side) -> None:
        if packet.window == 0 and not side.is_shut:
            self._tell(packet, side, What.ZERO_WINDOW)
        side.is_shut = packet.window == 0

    def _once(self, packet: Segment, side: Side, what: What) -> bool:
        is_new = what not in side.seen
        if is_new:
            side.seen.add(what)
            self._tell(packet, side, what)
        return is_new

    def _tell(self, packet: Segment, side: Side, what: What) -> None:
        self.facts.append(self._row(packet.t_ns, what, side.by))

    def _row(
        self, t_ns: int, what: What, by: By, correlation_id: int | None = None, size_bytes: int | None = None
    ) -> TcpFact:
        return TcpFact(t_ns, self.broker, self.client_port, what, by, self.number, correlation_id, size_bytes)


def follow(segments: Iterable[Segment], brokers: Mapping[int, int]) -> list[CapturedConnection]:
    """Return the connections in the order of their SYNs. ``brokers``: proxy port -> broker."""
    found: list[CapturedConnection] = []
    current: dict[tuple[int, int], tuple[int, CapturedConnection]] = {}
    for one in segments:
        is_clients = one.destination in brokers
        key = (one.source, one.destination) if is_clients else (one.destination, one.source)
        if is_clients and one.flags & Flags.SYN and current.get(key, (-1,))[0] != one.seq:
            connection = CapturedConnection(len(found) + 1, brokers[key[1]], key[0], one.t_ns)
            current[key] = one.seq, connection
            found.append(connection)
        if key in current:
            connection = current[key][1]
            connection.feed(one, connection.client if is_clients else connection.proxy)
    return found


def connections(recording: Recording) -> list[CapturedConnection]:
    """Return the connections of a capture, with times on CLOCK_MONOTONIC."""
    read = (segment(recording.monotonic_ns(wall_ns), data) for wall_ns, data, _ in recording.packets)
    return follow((one for one in read if one is not None), recording.brokers)


def facts(followed: Iterable[CapturedConnection]) -> list[TcpFact]:
    """Return all rows, sorted by time."""
    return sorted((row for one in followed for row in one.rows), key=lambda row: row.t_ns)


def _request(t_ns: int, data: bytes) -> CapturedFrame:
    if len(data) < _REQUEST.size:
        return CapturedFrame(t_ns, data, -1)
    _, api_key, api_version, correlation_id, size = _REQUEST.unpack_from(data)
    name = data[_REQUEST.size : _REQUEST.size + max(0, size)].decode(errors="replace")
    return CapturedFrame(t_ns, data, correlation_id, api_key, api_version, name if size >= 0 else None)


def _response(t_ns: int, data: bytes) -> CapturedFrame:
    return CapturedFrame(t_ns, data, _RESPONSE.unpack_from(data)[1])
