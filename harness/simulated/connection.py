"""One connection, from the client's end through a proxy and the witness to the broker's end, like TCP and Toxiproxy.

The client's end behaves like a socket: it connects, takes bytes, has bytes to read, and ends by FIN or by an error. At
the broker's end, whole requests are handed to the broker one by one, each after the response to the previous one. A
side that closes sends FIN after its data; a reset overtakes the data and drops what has not been read. As with the real
proxy, neither half-closing nor a peer's reset is relayed: the other side sees FIN, and is reset if it sends more.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from harness.simulated.ends import Answer, Listener, Wire
from harness.simulated.interception import Interception
from harness.simulated.pipe import BASE_NS, Pipe
from harness.wire.errors import FrameError
from harness.wire.frames import SIZE_BYTES, FrameReader
from harness.witness.transcript import BROKER, CLIENT, Transcript

REFUSED = "Connection refused"
RESET = "Connection reset by peer"


class Tear(NamedTuple):
    """The next frame of one direction is cut: ``at_byte`` of its bytes pass, then the connection ends."""

    name: str
    upstream: bool
    at_byte: int
    reset: bool


class SimulatedConnection:
    """The client's end of a connection. It never blocks.

    ``is_connected`` is True once it is open. ``incoming`` holds the received bytes; the client clears it when it has
    read them. ``fin`` is True once the other side has closed, and ``error`` says why the connection failed, else None.
    ``changed`` is set whenever one of these changes, and the client may set it back.
    """

    __slots__ = (
        "_answering",
        "_interception",
        "_lost",
        "_network",
        "_opened",
        "_orphan",
        "_reader",
        "_requests",
        "_tear",
        "_transcript",
        "_unheard",
        "broker_open",
        "changed",
        "closed",
        "down",
        "error",
        "fin",
        "incoming",
        "is_connected",
        "number",
        "proxy",
        "up",
    )

    def __init__(self, network: Wire, proxy: Listener | None) -> None:
        self._network = network
        self.proxy = proxy
        self.is_connected = False
        self.incoming: list[bytes] = []
        self.fin = False
        self.error: str | None = None
        self.changed = False
        self.closed = False
        self.broker_open = False
        self.number = 0
        self._opened = False
        self._answering = False
        self._orphan: str | None = None
        self._lost = False
        self._unheard = False
        self._tear: Tear | None = None
        self._requests: deque[bytes] = deque()
        self._reader = FrameReader()
        self._transcript: Transcript
        self._interception: Interception | None = None
        if proxy is not None:
            self.up = Pipe(network.scheduler, proxy.up, self._at_broker)
            self.down = Pipe(network.scheduler, proxy.down, self._at_client)

    def _touched(self, name: str) -> None:
        """Report that a fault affected this connection."""
        if self.proxy is not None:
            self.proxy.touched[name] += 1

    # The client's end.

    def send(self, data: bytes) -> None:
        """Send any number of bytes. Raise ConnectionError if the connection has failed or is closed."""
        if self.error is not None or self.closed:
            raise ConnectionError(self.error or "Broken pipe")
        if self._orphan is not None:
            self._touched(self._orphan)
            self._unheard = True
        elif self._opened and not self._lost:
            self.up.push(data)
        else:
            self._network.later(BASE_NS, lambda: self.fail(RESET))

    def close(self) -> None:
        """Close, after what was sent. Nothing more is read."""
        if not self.closed:
            self.closed = True
            self.incoming.clear()
            if self._opened:
                self.down.clear()
                self.up.push(None)
            if not self.broker_open:
                self.forget()

    def fail(self, error: str) -> None:
        """Report an error to the client's end. Data that it has not read is lost."""
        if not self.closed and self.error is None:
            self.error = error
            self.incoming.clear()
            self._tell()

    def _tell(self) -> None:
        self.changed = True
        self._network.news = True

    # Set-up.

    def accepted(self) -> None:
        """Accept the connection at the proxy, which dials the broker.

        If the broker is down, the connection ends at once.
        """
        assert self.proxy is not None
        if self.closed:
            self.forget()
            return
        network, now_ns = self._network, self._network.scheduler.now_ns
        self._transcript, self.number = network.witnessed(self.proxy.node_id)
        self._opened = True
        self.broker_open = network.broker.accepts(self.proxy.node_id)
        network.emit((self._transcript.opened(now_ns),))
        network.later(BASE_NS, self._connected)
        if not self.broker_open:
            network.emit(self._transcript.closed(now_ns, BROKER, "the broker cannot be reached"))
            self.down.push(None)

    def _connected(self) -> None:
        if not (self.closed or self.error):
            self.is_connected = True
            self._tell()

    # Output of the pipes.

    def _at_client(self, data: bytes | None) -> None:
        if self.closed or self.error is not None:
            return
        tear = self._tear
        if data is None:
            self.fin = True
        elif tear is None or tear.upstream:
            self.incoming.append(data)
        else:
            self.incoming.append(data[: min(tear.at_byte, len(data) - 1)])
            self._torn(tear)
        self._tell()

    def _at_broker(self, data: bytes | None) -> None:
        if not self.broker_open:
            if self.fin and data is not None:
                self._network.later(BASE_NS, lambda: self.fail(RESET))
            return
        if data is None:
            self._client_end_closed()
            return
        tear = self._tear
        if tear is not None and tear.upstream:
            data = data[: min(tear.at_byte, len(data) - 1)]
        if not self._is_taken(CLIENT, data):
            payload = self._reader.only_frame(data)
            self._network.emit(self._transcript.sent(self._network.scheduler.now_ns, data, payload))
            self._read(data, payload)
        if tear is not None and tear.upstream:
            self._torn(tear)
        self._next_request()

    def _read(self, data: bytes, payload: bytes | None) -> None:
        if payload is not None:
            self._requests.append(payload)
        else:
            self._take_pieces(data)

    def _take_pieces(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while (payload := self._reader.next_frame()) is not None:
                self._requests.append(payload)
        except FrameError:
            self.broker_closes()

    # The witness between them.

    def _is_taken(self, sender: str, data: bytes) -> bool:
        """True if rules of the witness decide about ``data``."""
        if self._interception is None:
            if not self._network.rules:
                return False
            self._interception = Interception(self, self._network, self._transcript)
        return self._interception.takes(sender, data)

    def rules_changed(self) -> None:
        """Pass on what no longer waits for a rule."""
        if self._interception is not None:
            self._interception.go_on()

    def pass_on(self, sender: str, data: bytes) -> None:
        """Pass bytes on from the witness.

        A broker receives them in a later event, so the row of its response follows theirs.
        """
        if sender == BROKER:
            self.down.push(data)
        else:
            self._network.later(0, lambda: self._heard(data))

    def _heard(self, data: bytes) -> None:
        if self.broker_open:
            self._read(data, self._reader.only_frame(data))
            self._next_request()

    def pass_on_end(self, sender: str) -> None:
        """Pass on the end of a direction from the witness."""
        if sender == BROKER:
            self.down.push(None)
        else:
            self._network.later(0, lambda: self._broker_end_closed(CLIENT, stops=False))

    def nothing_waits(self) -> None:
        """React to the witness having passed on everything that it held."""
        if self.closed and not self.broker_open:
            self.forget()

    def end_by_witness(self) -> None:
        """End the connection on both sides because of a rule. The proxy turns a reset into a FIN."""
        self._network.emit(self._transcript.closed(self._network.scheduler.now_ns, None, "ended by a rule"))
        self._requests.clear()
        self._broker_end_closed(BROKER)
        self.down.push(None)

    # The broker's end.

    def broker_closes(self) -> None:
        """Close the broker's end: the client receives FIN after the broker's data."""
        if self.broker_open:
            is_taken = self._interception is not None and self._interception.takes_end(BROKER)
            self._broker_end_closed(BROKER, stops=not is_taken)
            if not is_taken:
                self.down.push(None)

    def cut(self, *, reset: bool) -> None:
        """Close both ends at the proxy at once, whatever is in flight."""
        if self.proxy is None or not self._opened:
            return
        self.up.clear()
        self.down.clear()
        self._proxy_end_closed()
        if reset:
            self._network.later(BASE_NS, lambda: self.fail(RESET))
        else:
            self.down.push(None)

    def orphan(self, name: str) -> None:
        """Lose the path silently: the broker's end closes, and bytes from the client are discarded."""
        if self._opened and self.broker_open and not self.closed:
            self.up.clear()
            self.down.clear()
            self._orphan = name
            self._touched(name)
            self._proxy_end_closed()

    def way_is_back(self, name: str) -> None:
        """Undo :meth:`orphan`. A client that has sent data is reset now; one that sends later is reset then."""
        if self._orphan == name:
            self._orphan, self._lost = None, True
            if self._unheard:
                self._network.later(BASE_NS, lambda: self.fail(RESET))

    def arm_tear(self, tear: Tear) -> None:
        """Cut the next frame. This affects only connections that are already open."""
        if self.broker_open and not self.closed:
            self._tear = tear

    def disarm_tear(self, name: str) -> None:
        """Undo :meth:`arm_tear` if it has had no effect yet."""
        if self._tear is not None and self._tear.name == name:
            self._tear = None

    def _torn(self, tear: Tear) -> None:
        self._tear = None
        self._touched(tear.name)
        self.cut(reset=tear.reset)

    def _client_end_closed(self) -> None:
        """Handle a FIN that reached the witness. Data that waits in either direction is still passed on."""
        if self._interception is None or not self._interception.takes_end(CLIENT):
            self._broker_end_closed(CLIENT, stops=False)

    def _proxy_end_closed(self) -> None:
        """As above, but no client is left to receive responses."""
        if self._interception is not None:
            self._interception.clear(BROKER)
        self._client_end_closed()

    def _broker_end_closed(self, by: str, *, stops: bool = True) -> None:
        if self.broker_open:
            self.broker_open = False
            now_ns = self._network.scheduler.now_ns
            if self._interception is not None and stops:
                self._interception.clear(CLIENT, BROKER)
            self._network.emit(self._transcript.closed(now_ns, by))
            self._network.emit(self._transcript.ended(now_ns))
            if self.closed:
                self.forget()

    def _next_request(self) -> None:
        """Hand over the oldest request, unless one is being processed. A broker finishes what it has read."""
        if self._answering or not self._requests:
            return
        assert self.proxy is not None
        now_ns = self._network.scheduler.now_ns
        answer = self._network.broker.handle(self.proxy.node_id, self.number, self._requests[0], now_ns)
        if not answer.again:
            self._requests.popleft()
        if answer.waiting is not None:
            self._answering = True
            answer.waiting.then(self._awaited, self._network.scheduler)
        elif answer.at_ns > now_ns:
            self._answering = True
            self._network.scheduler.at(answer.at_ns, lambda: self._answered(answer))
        else:
            self._answer(answer)

    def _awaited(self, answer: Answer) -> None:
        # The broker may be in the middle of another request.
        self._network.scheduler.at(answer.at_ns, lambda: self._answered(answer))

    def _answered(self, answer: Answer) -> None:
        self._answering = False
        self._answer(answer)

    def _answer(self, answer: Answer) -> None:
        frame = answer.frame
        if self.broker_open and frame is not None and not self._is_taken(BROKER, frame):
            now_ns = self._network.scheduler.now_ns
            self._network.emit(self._transcript.answered(now_ns, frame, frame[SIZE_BYTES:]))
            self.down.push(frame)
        if answer.close:
            self._requests.clear()
            self.broker_closes()
        self._next_request()

    def forget(self) -> None:
        """Forget the connection, because nothing more can happen on it.

        If the witness still holds data, wait for that.
        """
        waits = self._interception is not None and self._interception.is_waiting
        if self.proxy is not None and not waits:
            self.proxy.connections.pop(self, None)
