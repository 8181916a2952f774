"""The client, without sockets and without a clock: commands come in, :meth:`step` does what is due.

It is a simulated client as it is (:class:`kafka_trial.api.SimulatedClient`), and the program drives it with
real sockets and the machine's clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kafka_trial.api import NS_PER_MS, Close, Flush, LoadCommand
from kafka_trial_examples.client.asking import Asking
from kafka_trial_examples.client.voice import Voice
from kafka_trial_examples.lookup.commands import Lookup


class Question(NamedTuple):
    """One lookup that has no result yet."""

    id: int
    n: int
    topic: str
    invoke_ns: int


def true_count(count: int) -> int:
    """Return the number of partitions as the broker said it."""
    return count


def one_too_many(count: int) -> int:
    """Return a wrong number: the defect of the mutant."""
    return count + 1


class LookupClient:
    """The client. ``report`` is what it makes of a broker's answer, ``timeout_ms`` the limit of each lookup."""

    trace = ()

    def __init__(
        self, asking: Asking, timeout_ms: int, voice: Voice, report: Callable[[int], int] = true_count
    ) -> None:
        self._asking, self._voice, self._report = asking, voice, report
        self._timeout_ns = timeout_ms * NS_PER_MS
        self._commands: deque[LoadCommand | Flush | Close] = deque()
        self._questions: deque[Question] = deque()
        self._flush: tuple[Flush, int] | None = None
        self.has_ended = False

    def load(self, command: LoadCommand) -> None:
        """Take the lookups of a command."""
        self._commands.append(command)

    def flush(self, command: Flush) -> None:
        """Tell once every lookup so far has a result."""
        self._commands.append(command)

    def close(self, command: Close) -> None:
        """Give up what is open, and end."""
        self._commands.append(command)

    def step(self, now_ns: int) -> int | None:
        """Do everything that is due. Return when the next call is due, or None once the client is closed."""
        self._obey()
        while not self.has_ended and self._questions:
            count = self._asking.step(self._questions[0].topic, now_ns)
            if count is None:
                break
            self._told(str(self._report(count)), None)
        self._expire(now_ns)
        if self._flush is not None:
            self._end_flush(*self._flush, now_ns)
        if self._commands and self._flush is None:
            return self.step(now_ns)
        return None if self.has_ended else self._next_ns()

    def _obey(self) -> None:
        while self._commands and self._flush is None and not self.has_ended:
            command = self._commands.popleft()
            if isinstance(command, Lookup):
                began_ns = self._voice.began(command)
                numbers = range(command.first, command.first + command.count)
                self._questions += [Question(command.id, n, command.topic, began_ns) for n in numbers]
            elif isinstance(command, Flush):
                self._flush = command, self._voice.invoked("flush", command.id)
            elif isinstance(command, Close):
                self._close(command)

    def _told(self, value: str | None, error: str | None) -> None:
        question = self._questions.popleft()
        self._voice.result(question.id, question.n, question.invoke_ns, value, error)

    def _expire(self, now_ns: int) -> None:
        while self._questions and now_ns >= self._questions[0].invoke_ns + self._timeout_ns:
            self._told(None, "TimeoutException")
            self._asking.drop(now_ns)

    def _end_flush(self, command: Flush, began_ns: int, now_ns: int) -> None:
        if not self._questions or now_ns >= began_ns + command.timeout_ms * NS_PER_MS:
            self._flush = None
            error = "lookups have no result yet" if self._questions else None
            self._voice.ended("flush", command.id, began_ns, error)

    def _close(self, command: Close) -> None:
        began_ns = self._voice.invoked("close", command.id)
        while self._questions:
            self._told(None, "ClosedException")
        self._asking.drop(began_ns)
        self._voice.ended("close", command.id, began_ns)
        self._voice.shut_down()
        self.has_ended = True

    def _next_ns(self) -> int:
        due = [self._voice.beat()]
        if self._questions:
            due += [self._asking.due_ns, self._questions[0].invoke_ns + self._timeout_ns]
        if self._flush is not None:
            command, began_ns = self._flush
            due.append(began_ns + command.timeout_ms * NS_PER_MS)
        return min(due)
