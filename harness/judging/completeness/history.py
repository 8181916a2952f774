"""The client's history: every event is present once, in order, until the end of the process. Pure.

A live conversation ends with the first event that breaks the contract, and so does the trial. The history of a complete
trial therefore keeps the contract, whatever the client did (:mod:`harness.adapter.protocol_rules`). If a stored history
breaks the same rules, it was damaged later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec

from harness.adapter.protocol_rules import ProtocolRules, RuleBroken, Unknown
from harness.model.anomaly import ReasonKind
from harness.model.consumer_contract import CONSUMER_OPS, ConsumerCommand
from harness.model.contract import (
    CRASHED,
    AnyEvent,
    Close,
    Command,
    Configure,
    Configured,
    Fatal,
    Flush,
    LoadCommand,
    OpComplete,
    OpInvoke,
    ShutdownComplete,
    StartupComplete,
    UnknownCommand,
)
from harness.model.evidence import Evidence
from harness.model.harness_events import HarnessEvent, MemberKilled
from harness.model.rows import Reason
from harness.model.units import NS_PER_MS
from harness.plugins import registry
from harness.trial.patience import CLOSE_TIMEOUT_MS

HISTORY_LACKS = ReasonKind(
    "history-incomplete", "the client's history is incomplete: {told}, at event {position}"
)
#: The fields that evidence does not have of a call that a consumer completed.
CALLS: dict[str, dict[str, Any]] = {op: {} for op in CONSUMER_OPS} | {
    "assign": {"partitions": []},
    "seek": {"position": {"topic": "", "partition": 0, "offset": 0}},
    "pause": {"partitions": []},
    "resume": {"partitions": []},
    "attempt": {"call": ""},
    "process": {"processing_ms": 0},
    "throw": {"callback": ""},
}
BROKEN = "an event contradicts those before it"


def numbered(evidence: Evidence) -> Reason | None:
    """Check that events are numbered from 0, beginning with ``startup_complete``, except those left out on purpose."""
    history = evidence.history
    if not history or not isinstance(history[0], StartupComplete) or history[0].seq != 0:
        return HISTORY_LACKS.reason(
            told="it does not begin with startup_complete", lack="startup", position=0
        )
    left_out = 0
    for position, (before, after) in enumerate(pairwise(history), 1):
        # An event of the harness about a process has the number that the next event of the process will have.
        step = after.seq - before.seq + isinstance(before, HarnessEvent)
        if step == 0 and isinstance(after, OpComplete) and after.is_unnumbered:
            continue
        if not 1 <= step <= 1 + evidence.record.left_out - left_out:
            return HISTORY_LACKS.reason(
                told="an event is missing, misplaced or repeated", lack="event", position=position
            )
        left_out += step - 1
    if left_out != evidence.record.left_out:
        return HISTORY_LACKS.reason(
            told="more events were received than are stored", lack="last-events", position=len(history)
        )
    return None


def kept_the_contract(evidence: Evidence) -> Reason | None:
    """Check the events with the rules of the contract, which accepted them when the client reported them."""
    now_ns = evidence.record.phases.end_ns or 0
    rules = ProtocolRules(began_ns=evidence.history[0].mono_ns)
    for command in _commands(evidence):
        rules.asked(command)
    for position, event in enumerate(evidence.history):
        if isinstance(event, HarnessEvent):
            continue
        try:
            rules.stored(event, now_ns)
        except RuleBroken as broken:
            return HISTORY_LACKS.reason(told=f"{BROKEN}: {broken}", lack=broken.code, position=position)
    return None


def _commands(evidence: Evidence) -> Iterator[Command | Unknown]:
    """Yield the commands that the history implies: evidence does not contain the commands themselves."""
    workload = registry.workload(evidence.record.spec.workload.kind)
    made = {kind.op: kind for kind in workload.commands}
    spans_of: dict[tuple[str, int], list[range]] = {}
    for event in evidence.history:
        match event:
            case OpInvoke(op=op) if op in made:
                span = range(event.first, event.first + event.count)
                spans_of.setdefault((op, event.id), []).append(span)
            case OpInvoke(op="flush") | OpComplete(op="flush"):
                yield Flush(event.id, 0)
            case OpInvoke(op="close") | OpComplete(op="close"):
                yield Close(event.id, 0)
            case Configured():
                names = dict.fromkeys((*event.applied, *event.not_set), "")
                own = dict.fromkeys(event.client_not_set, "")
                yield Configure(
                    event.id, evidence.record.run_id, evidence.producer, workload.role, dict(names), own
                )
            case OpInvoke(op=op) | OpComplete(op=op) if op in CALLS:
                yield msgspec.convert({"cmd": op, "id": event.id} | CALLS[op], ConsumerCommand)
            case UnknownCommand():
                yield Unknown(event.cmd, event.id)
    # At most as many as the plan has, whatever the events claim.
    left = evidence.record.spec.workload.records
    for (op, id), spans in spans_of.items():
        first, stop = min(span.start for span in spans), max(span.stop for span in spans)
        count = min(stop - first, left)
        left -= count
        yield _like(made[op])(id, evidence.record.topic, first, count)


@cache
def _like(made: type[LoadCommand]) -> Callable[[int, str, int, int], LoadCommand]:
    """Return a function that makes commands with the op and columns of ``made``; the rest of them is unknown."""

    class ReplayedCommand(LoadCommand, frozen=True):
        op, element, columns, steps = made.op, made.element, made.columns, made.steps
        elements: int

        @property
        def count(self) -> int:
            return self.elements

    return ReplayedCommand


def ended(evidence: Evidence) -> Reason | None:
    """Check the end of the process: regular, caused by its library, or killed because it did not close in time."""
    return None if _has_ended(evidence) else _breaks_off(evidence.history)


def _has_ended(evidence: Evidence) -> bool:
    last, phases = evidence.history[-1], evidence.record.phases
    if isinstance(last, ShutdownComplete | MemberKilled) or (
        isinstance(last, Fatal) and last.error == CRASHED
    ):
        return True
    late_ns = (phases.final_ns or 0) + CLOSE_TIMEOUT_MS * NS_PER_MS
    closed_in_time = any(
        isinstance(event, OpComplete) and event.op == "close" and event.mono_ns < late_ns
        for event in evidence.history
    )
    # A client that reports its end in time is not killed. It exits, and its exit is an event.
    return not closed_in_time and (phases.end_ns or 0) >= late_ns


def _breaks_off(history: tuple[AnyEvent, ...]) -> Reason:
    return HISTORY_LACKS.reason(told="it is cut off", lack="end", position=len(history))
