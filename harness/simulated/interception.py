"""The rules of the witness on one simulated connection: the live relay's pipelines in virtual time."""

from __future__ import annotations

from harness.limits.frames import WHOLE_LIMIT_BYTES
from harness.simulated.ends import Passing, Wire
from harness.simulated.scheduler import Event
from harness.witness.actions import End, Write
from harness.witness.pipeline import DirectionPipeline
from harness.witness.send_queue import Finish, RowRecorded
from harness.witness.transcript import BROKER, CLIENT, Transcript


def _raise(error: Exception) -> None:
    raise error


class Interception:
    """Both directions of ``connection``."""

    def __init__(self, connection: Passing, network: Wire, transcript: Transcript) -> None:
        self._connection, self._network, self._transcript = connection, network, transcript
        self._pipelines = {
            sender: DirectionPipeline(sender, transcript, network.rules, WHOLE_LIMIT_BYTES, _raise)
            for sender in (CLIENT, BROKER)
        }
        self._alarms: dict[str, Event] = {}

    @property
    def is_waiting(self) -> bool:
        """True while something has still to be passed on."""
        return any(pipeline.is_guarded for pipeline in self._pipelines.values())

    def takes(self, sender: str, data: bytes) -> bool:
        """Return True if ``data`` must not pass unchanged, in which case it is handled here."""
        pipeline = self._pipelines[sender]
        if not pipeline.takes(data):
            return False
        now_ns = self._network.scheduler.now_ns
        pipeline.feed(now_ns, data)
        if self._transcript.is_opaque:
            for each in self._pipelines.values():
                each.give_up(now_ns)
        self.go_on()
        return True

    def takes_end(self, sender: str) -> bool:
        """As :meth:`takes`, for a FIN, which follows everything that waits."""
        pipeline, now_ns = self._pipelines[sender], self._network.scheduler.now_ns
        if not pipeline.is_guarded:
            return False
        self._network.emit(self._transcript.closed(now_ns, sender))
        pipeline.finish(now_ns)
        self.go_on()
        return True

    def go_on(self) -> None:
        """Pass on what may leave now, in both directions, and set an alarm for the rest."""
        for sender in (CLIENT, BROKER):
            self._go_on(sender)

    def _go_on(self, sender: str) -> None:
        pipeline, scheduler = self._pipelines[sender], self._network.scheduler
        for step in pipeline.due(scheduler.now_ns):
            match step:
                case Write(data):
                    self._connection.pass_on(sender, data)
                case RowRecorded(row):
                    self._network.emit((row,))
                case End():
                    self._connection.end_by_witness()
                case Finish():
                    self._connection.pass_on_end(sender)
        if alarm := self._alarms.pop(sender, None):
            alarm.cancel()
        if pipeline.due_ns is not None:
            self._alarms[sender] = scheduler.at(pipeline.due_ns, lambda: self._go_on(sender))
        if not self.is_waiting:
            self._connection.nothing_waits()

    def clear(self, *senders: str) -> None:
        """Discard the data from these senders. Frames that still waited never pass."""
        for sender in senders:
            self._network.emit(self._pipelines[sender].clear(self._network.scheduler.now_ns))
            if alarm := self._alarms.pop(sender, None):
                alarm.cancel()
