"""What the harness writes for consumers to read, as the elements of a load."""

from __future__ import annotations

from typing import ClassVar

from harness.model.contract import LoadCommand


class Written(LoadCommand, frozen=True, tag="consume"):
    """Records that the harness writes, numbered from ``first``, each to its partition, in batches with ``codec``.

    If ``transactional``, they are one committed transaction. ``aborted`` records in each partition then belong to
    another one, which is aborted, and with ``empty`` a third one follows that leaves only its end markers.
    """

    op: ClassVar[str] = "consume"
    element: ClassVar[str] = "record"

    keys: list[str | None]
    values: list[str]
    partitions: list[int]
    codec: str = "none"
    transactional: bool = False
    aborted: int = 0
    empty: bool = False

    @property
    def count(self) -> int:
        """The number of records."""
        return len(self.values)
