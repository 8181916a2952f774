"""What the harness writes for consumers to read, as the elements of a load."""

from __future__ import annotations

from typing import ClassVar

from harness.model.contract import LoadCommand


class Written(LoadCommand, frozen=True, tag="consume"):
    """Records that the harness writes, numbered from ``first``, each to its partition."""

    op: ClassVar[str] = "consume"
    element: ClassVar[str] = "record"

    keys: list[str | None]
    values: list[str]
    partitions: list[int]

    @property
    def count(self) -> int:
        """The number of records."""
        return len(self.values)
