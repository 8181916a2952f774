"""Scripted brokers that hurt what they say: what they are told is true, and what they do, but not their answers."""

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
    """Stands before the brokers of a bench; ``said`` makes of each frame that they answer what the client is told."""

    def __init__(self, bench: Simulation) -> None:
        self.network = bench.network
        self._truth, bench.network.broker = bench.network.broker, self

    def accepts(self, node_id: int) -> bool:
        """As the true ones do."""
        return self._truth.accepts(node_id)

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> AnyAnswer:
        """What the true ones say, and then not that."""
        answer = self._truth.handle(node_id, conn, payload, now_ns)
        return answer if answer.frame is None else self.said(conn, payload, answer.frame, answer)

    @abstractmethod
    def said(self, conn: int, payload: bytes, frame: bytes, answer: AnyAnswer) -> AnyAnswer:
        """Instead of ``answer``, whose frame is ``frame``, to the request ``payload``."""


class HostileBrokers(Untrue):
    """Every other answer is hurt, until enough were; then they tell the truth."""

    def __init__(self, bench: Simulation, dice: Dice, answers: int) -> None:
        super().__init__(bench)
        self._dice = dice
        self.hurt, self._answers = 0, answers

    @property
    def are_done(self) -> bool:
        """From now on they tell the truth."""
        return self.hurt >= self._answers

    def said(self, conn: int, payload: bytes, frame: bytes, answer: AnyAnswer) -> AnyAnswer:
        """The same answer, or another of its kind, with a wound; rarely byte by byte and never whole, or twice."""
        if self.are_done or not self._dice.between(0, 1):
            return answer
        self.hurt += 1
        if not self._dice.between(0, 9):  # what a message says, rather than how
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
    """A frame that answers such a request, with any values."""
    return real_frame(dice, asked.api_key, asked.api_version, "response", asked.correlation_id).data
