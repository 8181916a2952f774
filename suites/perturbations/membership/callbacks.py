"""Members of KIP-848 that take no notice of an application that fails, or that does not poll."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from suites.checks.consume_wire.refusal_acknowledged import refusals
from suites.checks.consume_wire.stays_unpolled import LongTurn, long_turns
from suites.perturbations.consuming.edits import with_changed, with_fault
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import asking, with_edits, without
from suites.perturbations.perturbation import channels


def _refused(evidence: Evidence) -> Sequence[int]:
    return [at for at, each in enumerate(refusals(evidence)) if each.is_called_again]


def _once(evidence: Evidence, place: int) -> Evidence:
    """The listener is not called again before the acknowledgement."""
    refusal = list(refusals(evidence))[place]
    begin_ns, end_ns = refusal.called.mono_ns, refusal.beat.now.request.arrived_ns
    return with_changed(
        evidence,
        {
            at: None
            for at, event in enumerate(evidence.history)
            if isinstance(event, type(refusal.called))
            and event.producer == refusal.called.producer
            and begin_ns < event.mono_ns < end_ns
        },
    )


def _left(evidence: Evidence) -> Sequence[int]:
    return [at for at, each in enumerate(long_turns(evidence)) if each.left is not None]


def _back(evidence: Evidence) -> Sequence[int]:
    turns = list(long_turns(evidence))
    return [at for at in _left(evidence) if (later := turns[at].next) is not None and later.joins]


def _turn(evidence: Evidence, place: int) -> LongTurn:
    return list(long_turns(evidence))[place]


def _stays(evidence: Evidence, place: int) -> Evidence:
    """The heartbeat by which the member leaves is not sent."""
    left = _turn(evidence, place).left
    return evidence if left is None else without(evidence, [left.now])


def _stays_before_a_cut(evidence: Evidence, place: int) -> Evidence:
    """Connections are cut only when the turn is over."""
    end_ns = _turn(evidence, place).turn.end_ns
    return with_fault(_stays(evidence, place), "disconnect", end_ns + 1, NS_PER_MS)


def _goes_on(evidence: Evidence, place: int) -> Evidence:
    """The member does not join again, but has the epoch that it had before."""
    turn = _turn(evidence, place)
    assert turn.next is not None and turn.left is not None and turn.left.before is not None
    return with_edits(evidence, asking(turn.next.now, epoch=turn.left.before.member.epoch))


PERTURBATIONS = (
    of_consumers(
        "acknowledged-what-was-refused",
        channels("history"),
        "acknowledges a change of partitions although its listener has failed",
        "refusal-acknowledged",
        _refused,
        _once,
    ),
    of_consumers(
        "stayed-unpolled",
        channels("frames"),
        "stays in its group although its application does not poll",
        "stays-unpolled",
        _left,
        _stays,
    ),
    of_consumers(
        "stayed-unpolled-before-a-cut",
        channels("frames", "faults"),
        "stays in its group although its application does not poll, before connections are cut",
        "stays-unpolled",
        _left,
        _stays_before_a_cut,
    ),
    of_consumers(
        "went-on-after-it-left",
        channels("frames"),
        "goes on with its epoch after it has left, because its application had not polled",
        "goes-on-after-leaving",
        _back,
        _goes_on,
    ),
)
