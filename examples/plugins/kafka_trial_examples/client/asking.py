"""One question at a time on one connection: how many partitions a topic has, by a Metadata request.

A connection is given up if it ends, if it takes longer than ``request.timeout.ms`` to open or to answer, or if what it
answers cannot be read. The next one goes to the next of the bootstrap addresses, ``reconnect.backoff.ms`` later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kafka_trial.api import NS_PER_MS, Address, Setting
from kafka_trial_examples.client.metadata import Unreadable, request, response


class Link(Protocol):
    """A connection, of sockets or of simulated mode (:class:`kafka_trial.api.Connection`)."""

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
        self._received = b""
        self._is_asked = False
        #: When to give up the request in flight, or when to try again.
        self.due_ns = 0

    def step(self, topic: str, now_ns: int) -> int | None:
        """Do what is due now. Return the number of partitions once it is answered."""
        link = self._link
        if link is None:
            if now_ns >= self.due_ns:
                self._link = self._dial(self.addresses[self._dialled % len(self.addresses)])
                self._dialled, self._received = self._dialled + 1, b""
                self.due_ns = now_ns + self._timeout_ns
            return None
        try:
            return self._on(link, topic, now_ns)
        except (ConnectionError, Unreadable):
            self.drop(now_ns)
            return None

    def _on(self, link: Link, topic: str, now_ns: int) -> int | None:
        self._received += b"".join(link.incoming)
        link.incoming.clear()
        if self._is_asked and (answer := response(self._received)) is not None:
            return self._answer(*answer)
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
        self._correlation_id += 1
        self._is_asked, self._received, self.due_ns = True, b"", now_ns + self._timeout_ns
        link.send(request(topic, self._correlation_id, self._client_id))

    def _answer(self, correlation_id: int, count: int | None) -> int:
        """Return the number of partitions. ConnectionError for an error of the broker, or another's answer."""
        if correlation_id != self._correlation_id:
            raise ConnectionError("an answer to another question")
        if count is None:
            raise ConnectionError("the broker does not know the topic")
        self._is_asked = False
        return count


def _addresses(servers: str) -> Sequence[Address]:
    places = (each.rpartition(":") for each in servers.split(","))
    return [(host, int(port)) for host, _, port in places]
