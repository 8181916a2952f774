"""How well a topic's records compress, learned from its batches (CompressionRatioEstimator in Java).

An open batch does not know yet how small it will be; it is filled by the estimate. The estimate rises quickly and
falls slowly, for a batch that turns out too large costs a split (PRD-SPL-05).
"""

from __future__ import annotations

from harness.wire.records import Codec

INITIAL_RATIO = 1.0
DETERIORATE_STEP = 0.05
IMPROVING_STEP = 0.005
ESTIMATION_FACTOR = 1.05
"""The caution with which an estimate is used."""


class CompressionRatioEstimator:
    """Bytes on the wire for one byte of records, by topic, for the codec of one producer."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._ratios: dict[str, float] = {}

    def estimation(self, topic: str) -> float:
        """The topic's ratio without the caution; INITIAL_RATIO before its first batch was closed."""
        return self._ratios.get(topic, INITIAL_RATIO)

    def growth(self, topic: str) -> float:
        """What one byte of records is reckoned to take in a batch that is being filled."""
        return 1.0 if self._codec is Codec.NONE else self.estimation(topic) * ESTIMATION_FACTOR

    def observed(self, topic: str, ratio: float) -> None:
        """A batch was closed: at least a step up where it was worse, at most a step down where it was better."""
        estimation = self.estimation(topic)
        if ratio > estimation:
            self._ratios[topic] = max(estimation + DETERIORATE_STEP, ratio)
        elif ratio < estimation:
            self._ratios[topic] = max(estimation - IMPROVING_STEP, ratio)

    def was_split(self, topic: str, ratio: float) -> None:
        """A batch was too large for the broker: begin again, without hope."""
        self._ratios[topic] = max(INITIAL_RATIO, ratio)
