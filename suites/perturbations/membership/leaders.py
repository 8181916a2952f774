"""Positions that are not compared with the log of a new leader."""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.consumer_rows import OffsetPart
from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.asked import Asked, of_group
from suites.checks.consume_wire.truncation_unnoticed import EPOCHS, continued, moves
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.membership.exchanges import Edits, with_edits, without
from suites.perturbations.perturbation import channels

#: How far behind the place where the logs part a member reads that does not go back.
BEHIND = 3


def _asking(fetch: Asked, partition: int, **fields: int) -> Edits:
    def other(part: OffsetPart) -> OffsetPart:
        return changed(part, **fields) if part.partition == partition else part

    request = fetch.request
    return {id(request): changed(request, offsets=tuple(map(other, request.offsets)))}


def _read_on(evidence: Evidence, place: int) -> Evidence:
    """The process does not go back to where the logs part."""
    each = continued(evidence)[place]
    return with_edits(evidence, _asking(each.fetch, each.partition, offset=each.parted + BEHIND))


def _unnamed(evidence: Evidence, place: int) -> Evidence:
    """The process asks for no epoch's end, and its Fetch names no epoch."""
    move = moves(evidence)[place]
    edited = with_edits(evidence, _asking(move.fetch, move.asked.partition, current_leader_epoch=-1))
    return without(edited, of_group(edited, EPOCHS)[move.fetch.process])


PERTURBATIONS = (
    Perturbation(
        "read-on-after-truncation",
        channels("frames"),
        "reads on behind the place from which on the log has lost what the client had read",
        ("truncation-unnoticed",),
        lambda evidence: range(len(continued(evidence))),
        _read_on,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "leader-epoch-not-named",
        channels("frames"),
        "fetches from a new leader without its epoch",
        ("leader-epoch-not-named",),
        lambda evidence: range(len(moves(evidence))),
        _unnamed,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
)
