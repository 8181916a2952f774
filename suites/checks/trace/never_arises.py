"""Situations of the trace checks that no trial of the suites produces, and why. Properties judge their behaviours."""

from __future__ import annotations

from collections.abc import Mapping

_NO_TRANSACTIONS = "no scenario has transactions"

NEVER: Mapping[str, str] = {
    "MET-14": (
        "no send has to wait first for metadata and then for memory: the topic is known before there is load"
    ),
    "NET-CON-14": "no trial lasts as long as connections.max.idle.ms, nine minutes",
    "NET-INF-05": "no scenario asks for acks=0",
    "PRD-CLS-04": "every trial flushes before it closes, so that close() has nothing left to do",
    "PRD-CLS-07": "every trial flushes before it closes, so that no send is blocked by then",
    "PRD-FIN-03": "only a defective client reports a second result of a batch after its success",
    "PRD-IDM-11": "no trial raises an epoch 32,767 times",
    "PRD-SND-03": (
        "generated brokers return only retriable errors, because a final one would rightly break the promises"
    ),
    "PRD-TXN-02": _NO_TRANSACTIONS,
    "PRD-TXN-07": _NO_TRANSACTIONS,
    "PRD-TXN-19": _NO_TRANSACTIONS,
    "PRD-TXN-20": _NO_TRANSACTIONS,
}
"""Maps a behaviour id to the reason why its situation never arises."""
