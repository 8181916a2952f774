"""Scripted brokers with damaged responses: they process requests correctly and keep a correct state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial

from harness.brokers.scripted.answer import Answer
from harness.model.dice import Dice
from harness.simulated.ends import Answer as AnyAnswer
from harness.wire.headers import RequestHeader, read_request_header
from suites.properties.simulation import Simulation
from testkit.hostile import real_frame, trickle, wounded

TRICKLE_PAUSE_NS = 10_000_000


class Untrue(ABC):
    """A layer in front of the scripted brokers. ``said`` returns what the client gets instead of their response."""

    def __init__(self, bench: Simulation) -> None:
        self.network = bench.network
        self._truth, bench.network.broker = bench.network.broker, self

    def accepts(self, node_id: int) -> bool:
        """Return whether the real scripted broker accepts connections."""
        return self._truth.accepts(node_id)

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> AnyAnswer:
        """Pass the request to the real scripted brokers, and replace their response."""
        answer = self._truth.handle(node_id, conn, payload, now_ns)
        return answer if answer.frame is None else self.said(conn, payload, answer.frame, answer)

    @abstractmethod
    def said(self, conn: int, payload: bytes, frame: bytes, answer: AnyAnswer) -> AnyAnswer:
        """Return the response to the request ``payload`` in place of ``answer``, whose frame is ``frame``."""


class HostileBrokers(Untrue):
    """Brokers that damage every other response on average, up to a limit. Later responses are correct."""

    def __init__(self, bench: Simulation, dice: Dice, answers: int) -> None:
        super().__init__(bench)
        self._dice = dice
        self.hurt, self._answers = 0, answers

    @property
    def are_done(self) -> bool:
        """Whether the limit is reached, so that all further responses are correct."""
        return self.hurt >= self._answers

    def said(self, conn: int, payload: bytes, frame: bytes, answer: AnyAnswer) -> AnyAnswer:
        """Return the response, or another one of its kind, with a defect.

        A few are sent byte by byte and never completely, or twice.
        """
        if self.are_done or not self._dice.between(0, 1):
            return answer
        self.hurt += 1
        if not self._dice.between(0, 9):  # random values instead of a damaged encoding
            frame = any_answer(self._dice, read_request_header(payload)[0])
        _, hurt = wounded(self._dice, frame)
        if not self._dice.between(0, 19):
            self._trickle(conn, hurt)
            return Answer(None, answer.at_ns)
        return Answer(hurt * self._dice.choice((1, 1, 1, 2)), answer.at_ns, answer.close)

    def _trickle(self, conn: int, data: bytes) -> None:
        for number, byte in enumerate(trickle(data)):
            self.network.later(number * TRICKLE_PAUSE_NS, partial(self._push, conn, byte))

    def _push(self, conn: int, byte: bytes) -> None:
        for proxy in self.network.proxies:
            for connection in proxy.connections:
                if connection.number == conn and connection.broker_open:
                    connection.down.push(byte)


def any_answer(dice: Dice, asked: RequestHeader) -> bytes:
    """Return the frame of a response to such a request, with random values."""
    return real_frame(dice, asked.api_key, asked.api_version, "response", asked.correlation_id).data
