"""Every scenario: the client keeps what its settings promise, and behaves as Java does."""

from __future__ import annotations

from harness.pytest_support.fixtures import TrialResult


def test_scenario(kafka_verdict: TrialResult) -> None:
    """The trial of one scenario passes."""
    kafka_verdict.must_pass()
