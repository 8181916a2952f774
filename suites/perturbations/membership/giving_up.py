"""Members that give up too little, too much, or without the rebalance that has to follow."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_contract import Place
from harness.model.evidence import Evidence
from suites.analysis.consuming.asked import of_group
from suites.analysis.consuming.handovers import Told, told
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import SLACK_NS
from suites.checks.consume_wire.gives_up_otherwise import limit, rebalances, revocations
from suites.perturbations.consuming.edits import with_changed
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import without
from suites.perturbations.perturbation import channels

HISTORY = channels("history")


def _given_up(evidence: Evidence, place: int) -> Told | None:
    """Return the call by which an eager member gave up what it had before its assignment."""
    step = rebalances(evidence)[place]
    calls = told(evidence)[step.process]
    before = calls[: calls.index(step.told)]
    last = next((call for call in reversed(before) if call.partitions or call.assigns), None)
    return None if last is None or last.assigns else last


def _given_up_before(evidence: Evidence) -> Sequence[int]:
    return [at for at in range(len(rebalances(evidence))) if _given_up(evidence, at) is not None]


def _keeps(evidence: Evidence, place: int) -> Evidence:
    call = _given_up(evidence, place)
    assert call is not None
    return with_changed(evidence, {evidence.history.index(call.event): None})


def _revoked(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the revocations of members that keep something."""
    return [at for at, step in enumerate(revocations(evidence)) if step.given.partitions]


def _revokes_all(evidence: Evidence, place: int) -> Evidence:
    step = revocations(evidence)[place]
    every = sorted(step.told.partitions | step.given.partitions)
    places = [Place(evidence.record.topic, partition) for partition in every]
    event = step.told.event
    return with_changed(evidence, {evidence.history.index(event): changed(event, partitions=places)})


def _outlived(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the revocations after which the member has time to join again."""
    found = []
    for at, step in enumerate(revocations(evidence)):
        life, span = lives(evidence)[step.process], limit(step)
        busy_ns = max((turn.overlap_ns(*span) for turn in life.turns), default=0)
        if life.covers(span) and busy_ns <= SLACK_NS:
            found.append(at)
    return found


def _stays_out(evidence: Evidence, place: int) -> Evidence:
    """The member asks its coordinator for nothing after its revocation."""
    step = revocations(evidence)[place]
    requests = of_group(evidence)[step.process]
    return without(evidence, [each for each in requests if each.request.arrived_ns > step.told.at_ns])


PERTURBATIONS = (
    of_consumers(
        "kept-eagerly",
        HISTORY,
        "does not give up its partitions before an eager rebalance",
        "kept-over-a-rebalance",
        _given_up_before,
        _keeps,
    ),
    of_consumers(
        "revoked-all-though-cooperative",
        HISTORY,
        "gives up all partitions in a cooperative rebalance, before it is closed",
        "revoked-what-it-keeps",
        _revoked,
        _revokes_all,
    ),
    of_consumers(
        "stayed-out-after-a-revocation",
        channels("frames"),
        "does not join again after it has given up partitions in a cooperative rebalance",
        "no-second-rebalance",
        _outlived,
        _stays_out,
    ),
)
