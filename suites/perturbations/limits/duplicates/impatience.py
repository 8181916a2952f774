"""A batch is sent again by a client that did not wait: it closed the connection, stalled, or forgot an answer."""

from __future__ import annotations

from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from suites.perturbations.exchanges import Spot
from suites.perturbations.limits.duplicates.again import (
    DELAY_MS,
    OVER_MS,
    UNEXPLAINED,
    hung_up_after_answer,
    limit,
    limit_in_scene,
    over_before,
    patience_ms,
)
from suites.perturbations.limits.scene import (
    MORE_MS,
    REQUEST_TIMEOUT,
    During,
    Scene,
    Stage,
    beats,
    lacking,
    played,
    timeout_ms,
)


def _just_too_early(evidence: Evidence) -> Scene:
    waited_ms = patience_ms(evidence) - MORE_MS
    return Scene(waited_ms, answered_ms=waited_ms - 50)


def _hung_up_too_early(evidence: Evidence) -> Scene:
    waited_ms = patience_ms(evidence) - MORE_MS
    return Scene(waited_ms, answered_ms=waited_ms - 50, closed_ms=waited_ms - 60)


def _hung_up_long_after_fault(evidence: Evidence) -> Scene:
    until_ms = -timeout_ms(evidence) - OVER_MS
    fault = During("dropped_response", until_ms - 2 * MORE_MS, until_ms)
    return Scene(2 * MORE_MS, answered_ms=2, closed_ms=1, faults=(fault,))


def _late_answer(evidence: Evidence) -> Scene:
    """The answer is late, and the client closes the connection long after it."""
    fault = over_before(evidence, "latency", 50, downstream_ms=DELAY_MS)
    closed_ms = DELAY_MS + OVER_MS + MORE_MS
    return Scene(closed_ms + MORE_MS, closed_ms=closed_ms, faults=(fault,))


def _end_held_later(evidence: Evidence) -> Scene:
    """A fault delays the end of the connection. Whenever the client closed it, it had read the answer."""
    fault = During("bandwidth", OVER_MS, OVER_MS + 800, (("upstream_bytes_per_s", 1_000),))
    return Scene(OVER_MS + 750, closed_ms=OVER_MS + 700, faults=(fault,))


def _acked_before(evidence: Evidence) -> Scene:
    """A fault occurs between the acknowledgement and the second request."""
    return Scene(OVER_MS + 50, acked_ms=2, faults=(During("refuse", MORE_MS, 2 * MORE_MS),))


def _stalled_later(evidence: Evidence) -> Scene:
    """The client had more than half a second to read the answer before its process stalled."""
    until_ms = OVER_MS + MORE_MS + max(timeout_ms(evidence), 3_000)
    return Scene(until_ms + 1, stalled_ms=(OVER_MS + MORE_MS, until_ms))


def _without_timeout(evidence: Evidence, spot: Spot) -> Evidence:
    return lacking(Stage(evidence, spot).play(Scene(OVER_MS)), REQUEST_TIMEOUT)


PERTURBATIONS = (
    limit_in_scene(
        "again-before-its-timeout",
        "sends a batch again shortly before its request timeout",
        _just_too_early,
        also=(),
    ),
    limit_in_scene(
        "again-after-impatient-hang-up",
        "closes the connection before a request has timed out, and sends the request again",
        _hung_up_too_early,
        also=(),
    ),
    limit_in_scene(
        "again-after-hanging-up-on-answer",
        "closes the connection long after it had the answer, and sends the batch again",
        hung_up_after_answer,
        also=(),
    ),
    limit_in_scene(
        "again-after-hanging-up-in-peace",
        "closes the connection when the last fault is longer ago than a request timeout, and sends the batch again",
        _hung_up_long_after_fault,
    ),
    limit_in_scene(
        "again-after-hanging-up-on-late-answer",
        "closes the connection long after it had an answer that a latency delayed, and sends the batch again",
        _late_answer,
    ),
    limit(
        "again-after-end-was-held",
        "closes the connection when it has the answer, while the close is delayed, and sends the batch again",
        played(_end_held_later),
        verdict=Verdict.DIFFERS,
        caught_by=("avoidable-duplicate", *UNEXPLAINED),
        also=("faults",),
    ),
    limit_in_scene(
        "again-after-late-stall",
        "sends a batch again after its process has stalled, although it had the answer long before",
        _stalled_later,
        places=beats,
        also=(),
    ),
    limit(
        "again-without-timeout",
        "has no request timeout, and sends an answered batch again",
        _without_timeout,
        also=("record",),
    ),
    limit_in_scene(
        "again-after-ack-beside-failure",
        "sends a batch again 600 ms after it has acknowledged its records, because something else failed",
        _acked_before,
    ),
)
