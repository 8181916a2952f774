"""After a split, the next batches are as large as before and are refused again."""

from __future__ import annotations

from clients.reference.producer.compression_ratio_estimator import CompressionRatioEstimator
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Unteachable(CompressionRatioEstimator):
    """Does not update its estimate after a split."""

    def was_split(self, topic: str, ratio: float) -> None:
        """Do nothing."""


class UnteachableAccumulator(RecordAccumulator):
    """Uses ``Unteachable``."""

    ratio_estimator = Unteachable


MUTANT = Mutant(
    "makes batches as large as before after a batch had to be split",
    Components(accumulator=UnteachableAccumulator),
    caught_by=("delivery/batches_are_smaller_after_a_split", "delivery/a_split_ends_the_hope_of_compression"),
    breaks=("PRD-SPL-05",),
)
