"""The command for one transaction, and how the plan wants each transaction to end."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Final, Literal

from harness.model.contract import STEP_OPS, LoadCommand
from harness.model.dice import Dice
from harness.model.load import topic_names
from harness.model.spec import TrialSpec
from harness.workloads.produce.commands import keys_of, value_of

End = Literal["commit", "abort"]
COMMIT: Final = "commit"
ABORT: Final = "abort"
#: The parameter of the workload that says how many transactions are aborted.
ABORT_PERCENT: Final = "abort_percent"
FLUSH_PERCENT: Final = 50


class Transact(LoadCommand, frozen=True, tag="transact"):
    """Send ``len(values)`` records, numbered from ``first``, in one transaction, and end it with ``end``.

    If ``partitions`` is null, the client chooses. With ``flush`` every record has a result before the transaction is
    ended; without it, an abort may drop records that were not sent. The result of each record is that of its
    transaction: ok if it ended as the command asks, fail if it certainly ended the other way, and info if the client
    cannot know.
    """

    op: ClassVar[str] = "transact"
    element: ClassVar[str] = "record"
    columns: ClassVar[tuple[str, ...]] = ("partition", "offset")
    steps: ClassVar[tuple[str, ...]] = STEP_OPS

    keys: list[str | None]
    values: list[str]
    end: End
    flush: bool
    partitions: list[int] | None = None

    @property
    def count(self) -> int:
        """The number of records."""
        return len(self.values)


def transact(spec: TrialSpec, run_id: str, topic: str, numbers: range) -> Transact:
    """Return the command for the transaction with the records of these numbers."""
    workload = spec.workload
    topic = topic_names(workload.shape, topic)[workload.topic_of(numbers.start)]
    return Transact(
        id=0,
        topic=topic,
        first=numbers.start,
        keys=keys_of(workload, numbers),
        values=[value_of(workload, run_id, topic, n) for n in numbers],
        end=end_of(spec, numbers.start),
        flush=_drawn(spec.seed, "flush", numbers.start) <= FLUSH_PERCENT,
    )


def end_of(spec: TrialSpec, first: int) -> End:
    """Return how the transaction whose first record has this number is to end."""
    aborts = _drawn(spec.seed, "end", first) <= spec.workload.params.get(ABORT_PERCENT, 0)
    return ABORT if aborts else COMMIT


@lru_cache(maxsize=65_536)
def _drawn(seed: int, what: str, first: int) -> int:
    return Dice(seed, f"transaction/{what}/{first}").between(1, 100)
