"""Texts that all pages share: verdicts, guarantees, promises, counts.

A verdict is shown by glyph, letter and word. Colour is added, but is never the only distinction. The colours are from
Okabe and Ito's palette, which colour-blind readers can distinguish (``static/style.css``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.cli.explained import VERDICTS
from harness.model.verdicts import GLYPHS, SEVERITY, Guarantee, Verdict

LETTERS: Mapping[Verdict, str] = {
    Verdict.PASS: "P",
    Verdict.FAIL: "F",
    Verdict.DIFFERS: "D",
    Verdict.EXPECTED_FAIL: "xF",
    Verdict.UNEXPECTED_PASS: "uP",
    Verdict.NOT_EXERCISED: "N",
    Verdict.INCONCLUSIVE: "I",
    Verdict.UNSUPPORTED: "U",
    Verdict.HARNESS_ERROR: "H",
}


@dataclass(frozen=True)
class Badge:
    """How one verdict is shown, and what it means."""

    word: str
    glyph: str
    letter: str
    meaning: str


BADGES: Mapping[str, Badge] = {
    verdict.value: Badge(verdict.value, GLYPHS[verdict][0], LETTERS[verdict], VERDICTS[verdict])
    for verdict in reversed(SEVERITY)
}

GUARANTEES: Mapping[str, str] = {
    Guarantee.AT_MOST_ONCE: "retries=0: a record is in the log once or not at all.",
    Guarantee.AT_LEAST_ONCE: "Every acknowledged record is in the log; a retry may store it twice.",
    Guarantee.IDEMPOTENT: "enable.idempotence=true: every acknowledged record is in the log once, in order.",
    Guarantee.TRANSACTIONAL: "transactional.id set: a transaction's records become visible together, once, in order.",
}

#: The comparisons of the second judgement, in one sentence each: the counts, the kinds of anomalies, the explanations.
SECOND: Mapping[str, str] = {
    "counts": "Nine counts of each trial (sent, acknowledged, failed, unknown, in the log, lost, duplicated, "
    "reordered, unexpected) and its outcomes (offered, acknowledged, failed, unknown, gap, recovery, latency, "
    "requests, bytes).",
    "lost": "The acknowledged records without a copy in the log.",
    "duplicated": "The copies in the log after the first copy of their record.",
    "reordered": (
        "The acknowledged records that are in the log after one that was sent later, and after which one."
    ),
    "unexpected": "The log records that are foreign, damaged, never handed over or reported as failed.",
    "moved-key": "The keys that are in more partitions than the topic's growth allows, and in which ones.",
    "strange-timestamp": "The records whose timestamp is more than 5 s outside the time of their trial.",
    "explained": "The duplicates of at-least-once trials that an earlier failed request explains, by PySpark's"
    " own rule. A different explanation is shown and withdraws no verdict.",
}

FORBIDDEN, ALLOWED, RETRIED = "forbidden", "allowed", "allowed if a retry explains it"

PROMISES: Mapping[str, Mapping[str, str]] = {
    Guarantee.AT_MOST_ONCE: {
        "lost": ALLOWED,
        "duplicated": FORBIDDEN,
        "reordered": RETRIED,
        "unexpected": FORBIDDEN,
    },
    Guarantee.AT_LEAST_ONCE: {
        "lost": FORBIDDEN,
        "duplicated": RETRIED,
        "reordered": RETRIED,
        "unexpected": FORBIDDEN,
    },
    Guarantee.IDEMPOTENT: dict.fromkeys(("lost", "duplicated", "reordered", "unexpected"), FORBIDDEN),
    Guarantee.TRANSACTIONAL: dict.fromkeys(("lost", "duplicated", "reordered", "unexpected"), FORBIDDEN),
}

PHASES: Mapping[str, str] = {
    "warm-up": "sent before load began: it waited for connections and metadata",
    "calm": "no fault in the whole trial",
    "before": "ended before the first fault",
    "during": "a fault was in effect during the send",
    "after": "no fault in effect, but after one",
}
