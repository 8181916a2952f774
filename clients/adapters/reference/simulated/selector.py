"""The Selector port on a simulated network, with the same framing as on sockets (channel.py)."""

from __future__ import annotations

from clients.reference.network.channel import Channel
from clients.reference.ports import Address, ChannelState, Polled
from harness.simulated.connection import SimulatedConnection
from harness.simulated.network import Network


class SimulatedSelector:
    """See :class:`clients.reference.ports.Selector`. ``channel`` is the class that processes a connection's bytes."""

    def __init__(self, network: Network, channel: type[Channel] = Channel) -> None:
        self._network, self._channel = network, channel
        self._channels: dict[int, tuple[SimulatedConnection, Channel]] = {}

    @property
    def has_news(self) -> bool:
        """Whether a poll would report something. Other clients of the network have connections of their own."""
        for connection, channel in self._channels.values():  # noqa: SIM110 - called every round, a generator costs more
            if connection.changed or channel.has_news:
                return True
        return False

    def resolve(self, host: str, port: int) -> tuple[Address, ...]:
        """Return the addresses of a name."""
        return self._network.resolve(host, port)

    def connect(self, node_id: int, address: Address) -> None:
        """Start to connect."""
        self.close(node_id)
        self._channels[node_id] = self._network.connect(address), self._channel(node_id)

    def send(self, node_id: int, data: bytes) -> bool:
        """Start to write one whole frame. Return True if it is written already, as is usual with sockets."""
        connection, channel = self._channels[node_id]
        channel.send(data)
        if channel.ended is None:
            _write(connection, channel)
        return channel.take_sent()

    def poll(self) -> Polled:
        """Return everything that happened since the last call."""
        self._network.news = False
        polled = Polled()
        for node_id, (connection, channel) in list(self._channels.items()):
            if connection.changed:
                _read(connection, channel)
            if channel.has_news:
                channel.report(polled)
                if node_id in polled.disconnected:
                    self.close(node_id)
        return polled

    def close(self, node_id: int) -> None:
        """Close the connection, if there is one."""
        if node_id in self._channels:
            self._channels.pop(node_id)[0].close()

    def close_all(self) -> None:
        """Close all connections."""
        for node_id in list(self._channels):
            self.close(node_id)


def _write(connection: SimulatedConnection, channel: Channel) -> None:
    if channel.outgoing is not None:
        data = bytes(channel.outgoing)
        try:
            connection.send(data)
        except ConnectionError as error:
            channel.end(str(error), ChannelState.FAILED_SEND if channel.state is ChannelState.READY else None)
        else:
            channel.wrote(len(data))


def _read(connection: SimulatedConnection, channel: Channel) -> None:
    if channel.ended is not None:
        return
    if connection.is_connected and channel.state is ChannelState.NOT_CONNECTED:
        channel.established()
    if connection.error is not None:
        channel.end(connection.error)
    elif channel.wants_to_read:
        for data in connection.incoming:
            channel.feed(data)
        connection.incoming.clear()
        if connection.fin:
            channel.end("the broker closed the connection")
    connection.changed = False
    if channel.ended is None:
        _write(connection, channel)
