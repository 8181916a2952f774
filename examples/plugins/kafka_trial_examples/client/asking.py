"""One question at a time on one connection: how many partitions a topic has, by a Metadata request.

A connection is given up if it ends, if it takes longer than ``request.timeout.ms`` to open or to answer, or if what it
answers cannot be read. The next one goes to the next of the bootstrap addresses, ``reconnect.backoff.ms`` later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from kio.schema.metadata.v9.request import MetadataRequest, MetadataRequestTopic
from kio.schema.types import TopicName

from harness.model.addresses import Address
from harness.model.contract import Setting
from harness.model.units import NS_PER_MS
from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.frames import FrameReader
from harness.wire.messages import decode_response, encode_request

VERSION: Final = MetadataRequest.__version__
NO_ERROR = 0


class Link(Protocol):
    """A connection, of sockets or of simulated mode (:class:`harness.simulated.connection.BrokerConnection`)."""

    is_connected: bool
    incoming: list[bytes]
    fin: bool
    error: str | None

    def send(self, data: bytes) -> None: ...
    def close(self) -> None: ...


Dial = Callable[[Address], Link]


class Asking:
    """Ask :meth:`step` again and again about one topic, until it returns the number of its partitions."""

    def __init__(self, settings: Mapping[str, Setting], dial: Dial) -> None:
        self.addresses = _addresses(str(settings["bootstrap.servers"]))
        self._client_id = str(settings["client.id"])
        self._timeout_ns, self._backoff_ns = (
            int(settings[name]) * NS_PER_MS for name in ("request.timeout.ms", "reconnect.backoff.ms")
        )
        self._dial = dial
        self._dialled = self._correlation_id = 0
        self._link: Link | None = None
        self._reader = FrameReader()
        self._is_asked = False
        #: When to give up what is under way, or when to try again.
        self.due_ns = 0

    def step(self, topic: str, now_ns: int) -> int | None:
        """Do what is due now. Return the number of partitions once it is answered."""
        link = self._link
        if link is None:
            if now_ns >= self.due_ns:
                self._link = self._dial(self.addresses[self._dialled % len(self.addresses)])
                self._dialled, self._reader = self._dialled + 1, FrameReader()
                self.due_ns = now_ns + self._timeout_ns
            return None
        try:
            return self._on(link, topic, now_ns)
        except (ConnectionError, WireError):
            self.drop(now_ns)
            return None

    def _on(self, link: Link, topic: str, now_ns: int) -> int | None:
        for data in link.incoming:
            self._reader.feed(data)
        link.incoming.clear()
        if self._is_asked and (payload := self._reader.next_frame()) is not None:
            return self._answer(payload)
        if link.error is not None or link.fin:
            raise ConnectionError(link.error or "the broker closed the connection")
        if link.is_connected and not self._is_asked:
            self._ask(link, topic, now_ns)
        elif now_ns >= self.due_ns:
            raise ConnectionError("timed out")
        return None

    def drop(self, now_ns: int) -> None:
        """Give up the connection, if there is one, and with it what was asked on it."""
        if self._link is not None:
            self._link.close()
        self._link, self._is_asked = None, False
        self.due_ns = now_ns + self._backoff_ns

    def _ask(self, link: Link, topic: str, now_ns: int) -> None:
        request = MetadataRequest(
            topics=(MetadataRequestTopic(name=TopicName(topic)),),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        self._correlation_id += 1
        self._is_asked, self.due_ns = True, now_ns + self._timeout_ns
        link.send(encode_request(request, self._correlation_id, self._client_id))

    def _answer(self, payload: bytes) -> int:
        """Return the number of partitions. ConnectionError for an error of the broker, or another's answer."""
        correlation_id, response = decode_response(payload, Api.METADATA, VERSION)
        if correlation_id != self._correlation_id:
            raise ConnectionError("an answer to another question")
        topic = next(iter(response.topics), None)
        if topic is None or topic.error_code != NO_ERROR:
            raise ConnectionError("the broker does not know the topic")
        self._is_asked = False
        return len(topic.partitions)


def _addresses(servers: str) -> Sequence[Address]:
    places = (each.rpartition(":") for each in servers.split(","))
    return [(host, int(port)) for host, _, port in places]
