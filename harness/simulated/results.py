"""Which elements of a simulated trial's load have a result: sent records, or records that a group was given."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from harness.model.consumer_contract import RecordsConsumed
from harness.model.contract import WHOLE_OPS, AnyEvent, LoadCommand, OpComplete
from harness.model.payload import decode


class Results(Protocol):
    """The progress of a load."""

    def asked(self, command: LoadCommand) -> None:
        """Count the elements of a command that is handed over."""

    def heard(self, event: AnyEvent) -> None:
        """Process an event of a client."""

    @property
    def settled(self) -> bool:
        """True if every element that was handed over has a result."""

    def ends(self, id: int) -> int:
        """Return how many clients have ended the call ``id``."""


class Sent:
    """The results that producers report."""

    def __init__(self) -> None:
        self._asked = self._settled = 0
        self._ended: Counter[int] = Counter()

    def asked(self, command: LoadCommand) -> None:
        """Count the elements of a command that is handed over."""
        self._asked += command.count

    def heard(self, event: AnyEvent) -> None:
        """Process an event of a client."""
        if isinstance(event, OpComplete):
            if event.op in WHOLE_OPS:
                self._ended[event.id] += 1
            else:
                self._settled += len(event.records)

    @property
    def settled(self) -> bool:
        """True if every record has a result."""
        return self._settled >= self._asked

    def ends(self, id: int) -> int:
        """Return how many clients have ended the call ``id``."""
        return self._ended[id]


class Delivered(Sent):
    """The records of a trial, named by its topic, that some member of the group was given."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self._topic = topic
        self._wanted: set[int] = set()
        self._got: set[int] = set()

    def asked(self, command: LoadCommand) -> None:
        """Count the records that are written."""
        self._wanted.update(range(command.first, command.first + command.count))

    def heard(self, event: AnyEvent) -> None:
        """Process an event of a member."""
        super().heard(event)
        if isinstance(event, RecordsConsumed):
            found = (decode(value) for part in event.partitions for value in part.values)
            self._got.update(each.n for each in found if each is not None and each.trial == self._topic)

    @property
    def settled(self) -> bool:
        """True if some member was given each record."""
        return self._wanted <= self._got
