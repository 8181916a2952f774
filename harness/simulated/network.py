"""The network between one client and the brokers: names, listeners, and the witness in front of every broker.

``client -> proxy -> witness -> broker``. The witness's own transcript makes its rows from the bytes at the broker's
end, so they are what the live witness would have written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from harness.model.addresses import Address
from harness.model.rows import Frame
from harness.simulated.connection import REFUSED, SimulatedConnection
from harness.simulated.ends import Broker
from harness.simulated.pipe import BASE_NS
from harness.simulated.proxy import SimulatedProxy
from harness.simulated.scheduler import NS_PER_MS, WALL_MS_AT_ZERO, Scheduler
from harness.witness.contents import TopicNames
from harness.witness.rules import FrameRules
from harness.witness.transcript import Transcript

LANE = 0
Watcher = Callable[[Frame], None]


class Network:
    """The network of a simulated trial. A client uses :meth:`resolve`, :meth:`connect`, ``news`` and ``wall_ns``.

    ``news`` is set whenever something happens on one of the client's connections. The client sets it back to False
    once it has looked at all of them.

    ``advertised`` maps each node to its address. ``names`` are other host names and what they resolve to; nothing needs
    to listen there. ``rows`` is what the witness wrote, and ``rules`` is what it does to single frames.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        broker: Broker,
        advertised: Mapping[int, Address],
        names: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.broker = broker
        self.proxies = tuple(SimulatedProxy(node_id) for node_id in advertised)
        self.rows: list[Frame] = []
        self.rules = FrameRules()
        self.news = False
        self._watchers: list[Watcher] = []
        self._listening = {advertised[proxy.node_id]: proxy for proxy in self.proxies}
        self._hosts = frozenset(host for host, _ in self._listening)
        self._names = dict(names or {})
        self._topic_names: TopicNames = {}
        self._connections = 0

    # The client's side.

    @property
    def wall_ns(self) -> int:
        """The time of day, in nanoseconds since the Unix epoch. It advances with the virtual time."""
        return WALL_MS_AT_ZERO * NS_PER_MS + self.scheduler.now_ns

    def resolve(self, host: str, port: int) -> tuple[Address, ...]:
        """Return the addresses of a host name. Empty if the name is unknown."""
        if host in self._names:
            return tuple((each, port) for each in self._names[host])
        return ((host, port),) if host in self._hosts else ()

    def connect(self, address: Address) -> SimulatedConnection:
        """Begin to connect, and return the connection at once. Its attributes show when it is open, or the error."""
        proxy = self._listening.get(address)
        connection = SimulatedConnection(self, proxy)
        if proxy is None:
            self.later(2 * BASE_NS, lambda: connection.fail(REFUSED))
        else:
            self.later(BASE_NS, lambda: proxy.arrive(connection))
        return connection

    def later(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Call ``action`` after ``delay_ns``."""
        self.scheduler.at(self.scheduler.now_ns + delay_ns, action)

    # The witness.

    def witnessed(self, node_id: int) -> tuple[Transcript, int]:
        """Return a new connection's transcript, and its number."""
        self._connections += 1
        return Transcript(LANE, node_id, self._connections, self._topic_names), self._connections

    def emit(self, rows: Iterable[Frame]) -> None:
        """Pass rows of the witness to the evidence and to the watchers."""
        for row in rows:
            self.rows.append(row)
            if self._watchers:
                for watcher in tuple(self._watchers):
                    watcher(row)

    def watch(self, watcher: Watcher) -> None:
        """Call ``watcher`` with every row from now on."""
        self._watchers.append(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        """Undo :meth:`watch`, if it was called."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)
