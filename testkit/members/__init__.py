"""A group without a broker, for tests of what the harness does with the members of a group.

``program.py`` speaks the contract of a consumer. It delivers the records of a file to which :class:`FileContents`
appends. Each member owns partition 0, as if it were alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from harness.model.consumer_contract import Position
from harness.plugins.client import Launch
from harness.wire.records import read_batches

PROGRAM = Path(__file__).with_name("program.py")
FILE_ENV = "KAFKA_TRIAL_MEMBERS_FILE"


def launch(file: Path) -> Launch:
    """Return how to start a member that reads ``file``."""
    return Launch((sys.executable, "-S", str(PROGRAM)), {FILE_ENV: str(file)})


class FileContents:
    """Contents of a cluster in one file: a line ``topic partition offset value`` for each record."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._ends: dict[tuple[str, int], int] = {}
        self.groups: dict[str, list[Position]] = {}
        file.touch()

    async def append(self, topic: str, partition: int, batch: bytes, name: str = "") -> int:
        """Append the records of a batch, and return the offset of the first."""
        base = self._ends.get((topic, partition), 0)
        values = [record.value or b"" for each in read_batches(batch) for record in each.records]
        with self._file.open("a") as file:
            file.writelines(
                f"{topic} {partition} {base + step} {value.decode()}\n" for step, value in enumerate(values)
            )
        self._ends[topic, partition] = base + len(values)
        return base

    async def committed(self, group: str) -> list[Position]:
        """Return the offsets that a test has set for the group."""
        return self.groups.get(group, [])
