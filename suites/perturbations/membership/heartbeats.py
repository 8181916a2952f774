"""Members of KIP-848 whose heartbeats say too little, too much, or something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.beats import OWNED, Beat
from suites.checks.consume_wire.heartbeat_contents import beats, is_accepted, is_next
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import Edits, answer_lost, asking, refused, with_edits
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")
LOADING = BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"].code
TOPICS = "subscribed_topic_names"
OTHER_ID = "another-member"
TIMEOUT_MS = 10_000


def _joining(evidence: Evidence) -> Sequence[int]:
    return [at for at, beat in enumerate(beats(evidence)) if beat.joins]


def _rejoining(evidence: Evidence) -> Sequence[int]:
    return [at for at, beat in enumerate(beats(evidence)) if beat.joins and beat.before is not None]


def _steady(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the heartbeats that only say that the member lives, after one that was accepted."""
    return [
        at
        for at, beat in enumerate(beats(evidence))
        if not beat.joins and not beat.now.member.said and is_accepted(beat) and _is_same(beat)
    ]


def _undisturbed(evidence: Evidence) -> Sequence[int]:
    """Return those of them before which the client certainly sent no other one."""
    found = list(beats(evidence))
    return [at for at in _steady(evidence) if is_next(evidence, found[at])]


def _is_same(beat: Beat) -> bool:
    before = beat.before
    return before is not None and before.request.conn == beat.now.request.conn and not before.told.said


def _edited(edits: Callable[[Beat], Edits]) -> Callable[[Evidence, int], Evidence]:
    """Return what applies edits to the heartbeat with a number."""
    return lambda evidence, at: with_edits(evidence, edits(list(beats(evidence))[at]))


def _asking(**fields: Any) -> Callable[[Evidence, int], Evidence]:
    return _edited(lambda beat: asking(beat.now, **fields))


def _after_an_error(beat: Beat) -> Edits:
    """The heartbeat before is refused."""
    return refused(beat.before, LOADING) if beat.before is not None else {}


def _after_silence(evidence: Evidence, at: int) -> Evidence:
    """The heartbeat before has no answer."""
    beat = list(beats(evidence))[at]
    return evidence if beat.before is None else answer_lost(evidence, beat.before, beat.now)


def _everything(beat: Beat) -> Edits:
    owned = tuple(sorted(beat.known, key=lambda each: (each.topic, each.partition)))
    edits = asking(beat.now, said=(TOPICS, OWNED), rebalance_timeout_ms=TIMEOUT_MS)
    [(key, frame)] = edits.items()
    return {key: changed(frame, offsets=owned)} if frame is not None else {}


def _ahead(beat: Beat) -> Edits:
    return asking(beat.now, epoch=(beat.now.member.epoch or 0) + 1)


PERTURBATIONS = (
    of_consumers(
        "joined-without-its-timeout",
        FRAMES,
        "joins a group of KIP-848 without its rebalance timeout",
        "joins-incompletely",
        _joining,
        _asking(rebalance_timeout_ms=-1),
        Verdict.FAIL,
    ),
    of_consumers(
        "joined-without-its-topics",
        FRAMES,
        "joins a group of KIP-848 without its topics",
        "joins-incompletely",
        _joining,
        _asking(said=(OWNED,)),
        Verdict.FAIL,
    ),
    of_consumers(
        "short-after-an-error",
        FRAMES,
        "leaves fields out of the heartbeat after one that was refused",
        "says-too-little",
        _steady,
        _edited(_after_an_error),
        Verdict.FAIL,
    ),
    of_consumers(
        "short-after-silence",
        FRAMES,
        "leaves fields out of the heartbeat after one that was not answered",
        "says-too-little",
        _steady,
        _after_silence,
        Verdict.FAIL,
    ),
    of_consumers(
        "said-it-all-again",
        FRAMES,
        "says in a heartbeat what the coordinator knows",
        "says-too-much",
        _undisturbed,
        _edited(_everything),
    ),
    of_consumers(
        "another-epoch",
        FRAMES,
        "sends a heartbeat with an epoch that it was not given",
        "other-epoch",
        _steady,
        _edited(_ahead),
        Verdict.FAIL,
    ),
    of_consumers(
        "another-id",
        FRAMES,
        "sends a heartbeat with another member id",
        "other-member-id",
        _steady,
        _asking(member_id=OTHER_ID),
        Verdict.FAIL,
    ),
    of_consumers(
        "another-id-after-a-fence",
        FRAMES,
        "joins again with another member id",
        "member-id-not-kept",
        _rejoining,
        _asking(member_id=OTHER_ID),
    ),
)
