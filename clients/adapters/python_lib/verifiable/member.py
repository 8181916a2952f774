"""An application with a poll loop: one member of a group, or a consumer with partitions of its own.

A turn takes records, works on them, reports and commits them. Commands run between two turns, on the same thread. Only
``wakeup`` comes from another. An exception of the client is reported, and the loop continues after a pause.

Records that must be committed first are not processed if that fails. The application goes back to them, or drops
them, and pauses: the client would hand them over again at once.
"""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING, Any

from .application import Owned, first_offsets, next_offsets, tell_commit, tell_records
from .output import complete, invoke

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Mapping, Sequence

    from .consumer import ConsumerAdapter, Place, Record
    from .output import Output

    Command = dict[str, Any]

POLL_S = 0.1
ERROR_PAUSE_S = 0.1
COMMIT_MODES = ("none", "auto", "sync", "async", "sync-first")
COMMITS = ("sync", "async")

#: Command -> the feature that a client must declare for it.
NEEDS = {
    "subscribe": "group",
    "assign": "assign",
    "seek": "seek",
    "pause": "pause",
    "resume": "pause",
    "wakeup": "wakeup",
    "attempt": "attempt",
}


class Member:
    """The application around one consumer. ``closing`` is set as soon as a close is requested, and ends its work."""

    def __init__(
        self, adapter: ConsumerAdapter, features: Collection[str], output: Output, closing: threading.Event
    ) -> None:
        self.adapter = adapter
        #: True while it has a subscription or an assignment.
        self.polls = False
        #: How many records it has taken from the client, and with how many of them it is done.
        self.taken = self.finished = 0
        self._features, self._output, self._closing = features, output, closing
        self._owned = adapter.application = Owned(output, self._take)
        self._commit_mode = "none"
        self._processing_ms = 0
        self._calls: dict[str, Callable[[Command], str | None]] = {
            "subscribe": self._subscribe,
            "assign": self._assign,
            "unsubscribe": self._unsubscribe,
            "seek": self._seek,
            "pause": lambda command: adapter.pause(_places(command)),
            "resume": lambda command: adapter.resume(_places(command)),
            "commit": self._commit_now,
            "attempt": self._attempt,
            "process": self._process,
            "throw": lambda command: self._owned.throw(command["callback"], command.get("times", 1)),
            "wakeup": lambda _command: adapter.wakeup(),
        }

    def obey(self, command: Command) -> None:
        """Execute a command of the consumer, or answer that the client cannot do it."""
        name, id = command["cmd"], command.get("id", -1)
        if not self._can(command):
            self._output.event("unsupported", {"cmd": name, "id": id})
            return
        invoke_ns = invoke(self._output, name, id)
        try:
            error = self._calls[name](command)
        except Exception as failure:
            error = self._survived(name, failure)
        complete(self._output, name, id, invoke_ns, error)

    def turn(self) -> None:
        """Take records and process them, or report why the client has none."""
        try:
            records = self.adapter.poll(POLL_S)
        except Exception as error:
            self._survived("poll", error)
            self._closing.wait(ERROR_PAUSE_S)
        else:
            if records:
                if not self._take(records):
                    self._go_back(first_offsets(records))
                    self._closing.wait(ERROR_PAUSE_S)
                self.adapter.finished()

    def close(self, timeout_s: float) -> str | None:
        """Close the client. Return why it is not done, or None."""
        try:
            return None if self.adapter.close(timeout_s) else "the client is not done"
        except Exception as error:
            return self._survived("close", error)

    def _survived(self, call: str, failure: Exception) -> str:
        """Report an exception of the client. Return its name."""
        traceback.print_exception(type(failure), failure, failure.__traceback__)
        name, retriable = self.adapter.describe(failure)
        told = {"call": call, "error": name, "message": str(failure), "retriable": retriable}
        self._output.event("consumer_error", told)
        return name

    def _can(self, command: Command) -> bool:
        name = command["cmd"]
        if name not in self._calls or NEEDS.get(name, "consumer") not in self._features:
            return False
        if name == "subscribe" and command.get("pattern") is not None:
            return "pattern" in self._features
        return name != "throw" or command["callback"] in self.adapter.callbacks

    def _take(self, records: Sequence[Record]) -> bool:
        """Work on records. Return False if they are not processed, because they could not be committed first."""
        polled_ns = time.monotonic_ns()
        self.taken += len(records)
        offsets = next_offsets(records)
        if self._commit_mode == "sync-first" and self._commit(offsets, "sync") is not None:
            self.finished += len(records)
            return False
        self._closing.wait(self._processing_ms / 1000)
        tell_records(self._output, records, polled_ns)
        self.finished += len(records)
        self._owned.processed.update(offsets)
        if self._commit_mode in COMMITS:
            self._commit(offsets, self._commit_mode)
        return True

    def _go_back(self, offsets: Mapping[Place, int]) -> None:
        """Set the positions to these offsets, as far as the client can."""
        if "seek" not in self._features:
            return
        for place, offset in offsets.items():
            try:
                self.adapter.seek(place, offset)
            except Exception as failure:
                self._survived("seek", failure)

    def _commit(self, offsets: Mapping[Place, int], how: str) -> str | None:
        """Commit, and return the error if it is known already."""
        invoke_ns = time.monotonic_ns()

        def done(failure: Exception | None) -> None:
            error = None if failure is None else self.adapter.describe(failure)[0]
            tell_commit(self._output, offsets, how, (invoke_ns, time.monotonic_ns()), error)

        try:
            if how == "async":
                self.adapter.commit_async(offsets, done)
                return None
            self.adapter.commit(offsets)
        except Exception as failure:
            done(failure)
            return self._survived("commit", failure)
        done(None)
        return None

    def _subscribe(self, command: Command) -> None:
        self._begin(command)
        self.adapter.subscribe(command.get("topics", []), command.get("pattern"))
        self.polls = True

    def _assign(self, command: Command) -> None:
        self._begin(command)
        self.adapter.assign(_offsets(command))
        self.polls = True

    def _attempt(self, command: Command) -> None:
        """Make a call that the client may refuse. The application itself stays as it is."""
        if command["call"] == "poll":
            if records := self.adapter.try_poll(POLL_S):
                self._take(records)
                self.adapter.finished()
        else:
            self.adapter.assign(_offsets(command))

    def _begin(self, command: Command) -> None:
        mode = command.get("commit", "none")
        if mode not in COMMIT_MODES:
            raise ValueError(f"{mode!r} is not one of {', '.join(COMMIT_MODES)}")
        self._commit_mode, self._processing_ms = mode, command.get("processing_ms", 0)

    def _unsubscribe(self, _command: Command) -> None:
        self.polls = False
        self.adapter.unsubscribe()
        self._owned.processed.clear()

    def _seek(self, command: Command) -> None:
        at = command["position"]
        place = (at["topic"], at["partition"])
        self.adapter.seek(place, at["offset"])
        self._owned.processed.pop(place, None)

    def _commit_now(self, command: Command) -> str | None:
        how = command.get("how", "sync")
        if how not in COMMITS:
            raise ValueError(f"{how!r} is not one of {', '.join(COMMITS)}")
        offsets = dict(self._owned.processed)
        return self._commit(offsets, how) if offsets else None

    def _process(self, command: Command) -> None:
        self._processing_ms = command["processing_ms"]


def _offsets(command: Command) -> dict[Place, int]:
    return {(each["topic"], each["partition"]): each["offset"] for each in command["partitions"]}


def _places(command: Command) -> list[Place]:
    return [(each["topic"], each["partition"]) for each in command["partitions"]]
