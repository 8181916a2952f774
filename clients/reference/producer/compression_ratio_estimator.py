"""How well a topic's records compress, learned from its batches (CompressionRatioEstimator in Java).

The compressed size of an open batch is unknown, so it is filled according to the estimate. The estimate rises quickly
and falls slowly, because a batch that turns out too large must be split (PRD-SPL-05).
"""

from __future__ import annotations

from harness.wire.records import Codec

INITIAL_RATIO = 1.0
DETERIORATE_STEP = 0.05
IMPROVING_STEP = 0.005
ESTIMATION_FACTOR = 1.05
"""The safety factor of an estimate."""


class CompressionRatioEstimator:
    """Bytes on the wire per byte of records, by topic, for the codec of one producer."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._ratios: dict[str, float] = {}

    def estimation(self, topic: str) -> float:
        """Return the topic's ratio without the safety factor. INITIAL_RATIO before its first batch was closed."""
        return self._ratios.get(topic, INITIAL_RATIO)

    def growth(self, topic: str) -> float:
        """Return the bytes that one byte of records is assumed to take in an open batch."""
        return 1.0 if self._codec is Codec.NONE else self.estimation(topic) * ESTIMATION_FACTOR

    def observed(self, topic: str, ratio: float) -> None:
        """Adapt to a closed batch: up by at least one step if it is worse, down by at most one step if it is better."""
        estimation = self.estimation(topic)
        if ratio > estimation:
            self._ratios[topic] = max(estimation + DETERIORATE_STEP, ratio)
        elif ratio < estimation:
            self._ratios[topic] = max(estimation - IMPROVING_STEP, ratio)

    def was_split(self, topic: str, ratio: float) -> None:
        """Reset the ratio after a batch that was too large for the broker, to INITIAL_RATIO or more."""
        self._ratios[topic] = max(INITIAL_RATIO, ratio)
