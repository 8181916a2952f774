"""Which perturbations show where an excuse ends, by the name under which a check grants it; and what shows none yet."""

from __future__ import annotations

from collections.abc import Mapping

from suites.perturbations.limits import duplicates, overtaking, refusals, results
from suites.perturbations.perturbation import Perturbation

PERTURBATIONS: tuple[Perturbation, ...] = (
    *duplicates.PERTURBATIONS,
    *overtaking.PERTURBATIONS,
    *refusals.PERTURBATIONS,
    *results.PERTURBATIONS,
)

#: Excuse -> the perturbations just outside of it.
LIMITS: Mapping[str, tuple[str, ...]] = {
    "answer-held": ("again-after-hanging-up-on-late-answer",),
    "answer-lost": ("again-after-answers-were-lost", "again-while-others-lose-answers"),
    "answers-out-of-turn": ("gave-up-before-answers-out-of-turn",),
    "answer-out-of-turn": ("again-before-answers-out-of-turn",),
    "answers-out-of-turn-elsewhere": ("again-before-others-were-out-of-turn",),
    "behind-too-large": ("gave-up-beside-too-large",),
    "beside-single-too-large": ("unsplit-under-another-limit",),
    "blocked-call": ("gave-up-before-max-block",),
    "client-stalled-over-answer": ("again-after-late-stall",),
    "connection-ended": ("again-long-after-a-cut", "again-after-hanging-up-on-answer"),
    "duplicate-sequence-answer": ("ack-of-another-duplicate",),
    "end-held": ("again-after-end-was-held",),
    "error-answer": ("again-long-after-refusal", "again-beside-refusal-elsewhere"),
    "expired-with-its-batch": (
        "gave-up-before-the-batch-expired",
        "gave-up-as-another-partition-expired",
    ),
    "harness-stalled": ("again-before-harness-stalled",),
    "held-bytes": ("again-after-bytes-were-held", "again-while-others-are-held"),
    "late-by-a-stall": ("late-by-more-than-it-stalled",),
    "latency": ("again-within-latency",),
    "lost-with-connection": ("again-after-hanging-up-on-answer", "again-at-once-beside-fault"),
    "neighbour-failed": (
        "again-long-after-refusals",
        "again-before-refusals",
        "again-after-ack-beside-failure",
        "again-beside-refusal-elsewhere",
    ),
    "neighbour-timed-out": ("again-beside-timeout-elsewhere",),
    "network-was-not-free": ("gave-up-while-others-have-faults",),
    "overdue-neighbour": ("again-after-impatient-hang-up",),
    "overtaken-retry": (
        "overtaken-before-refusals",
        "overtaken-by-a-retry",
        "overtaken-beside-refusal-elsewhere",
        "overtaken-in-peace",
    ),
    "process-stalled": ("gave-up-long-after-a-stall",),
    "recovering-client-hangs-up": ("again-after-hanging-up-in-peace",),
    "request-failed-in-part": ("again-after-ack-and-refusal-elsewhere",),
    "request-kept": ("again-beside-kept-elsewhere",),
    "request-timed-out": ("again-before-its-timeout",),
    "request-timeout-unknown": ("again-without-timeout",),
    "sequence-refused-though-next": ("gave-up-over-its-own-gap",),
    "stored-then-too-large": ("gave-up-stored-beside-too-large",),
    "too-large": ("gave-up-long-after-too-large", "gave-up-beside-too-large"),
    "topic-growth": ("again-elsewhere-before-growth",),
    "unread-bytes": (
        "again-beside-unread-elsewhere",
        "again-before-unread",
        "ack-beside-unread-elsewhere",
    ),
    "unseen-attempt": ("again-long-after-refusals", "again-before-refusals", "overtaken-before-refusals"),
}

#: Excuse -> why nothing shows yet where it ends.
OPEN: Mapping[str, str] = {}
