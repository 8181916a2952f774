"""When a member's application called something. Pure.

Not every adapter reports that a call begins. Its end tells when it began.
"""

from __future__ import annotations

from collections.abc import Collection

from harness.judging.availability import Span
from harness.model.contract import OpComplete, OpInvoke
from harness.model.evidence import Evidence


def called_ns(evidence: Evidence, process: str, ops: Collection[str]) -> list[int]:
    """Return when the application of a process called one of these. A moment may be there twice."""
    found = []
    for event in evidence.history:
        if event.producer == process and isinstance(event, OpInvoke | OpComplete) and event.op in ops:
            began_ns = event.invoke_ns[:1] if isinstance(event, OpComplete) else []
            found += began_ns or [event.mono_ns]
    return found


def has_called(evidence: Evidence, process: str, span: Span, ops: Collection[str]) -> bool:
    """Return whether the application of a process called one of these in a period."""
    return any(span.begin_ns <= at_ns <= span.end_ns for at_ns in called_ns(evidence, process, ops))
