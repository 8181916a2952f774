"""A check: a pure function from evidence to findings, with what it declares about itself.

It never runs while evidence is being collected, reads nothing but the evidence, and is merged only with a
mutant that it catches. The docstring of its module is its published page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.model.evidence import Evidence
from harness.model.rows import Finding, Reason
from harness.model.verdicts import Guarantee, Level


class NoOpinion(Exception):
    """A check that cannot judge this trial says why: a :class:`~harness.model.rows.Reason`, code and parameters."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


class Unsupported(NoOpinion):
    """Raised by a check of something that this client, so configured, does not claim."""


class Inconclusive(NoOpinion):
    """Raised by a check that cannot tell: the trial was disturbed, the client is not to blame."""


def always(_: Evidence) -> int:
    """The situation of a requirement that every trial is about."""
    return 1


@dataclass(frozen=True)
class Requirement:
    """A behaviour id of the catalogue with its level, and the guarantees under which it binds.

    ``arises`` counts how often the situation that the behaviour is about arose in a trial: where it never did, the
    behaviour did not hold, it was not exercised.
    """

    id: str
    level: Level
    guarantees: frozenset[Guarantee] = frozenset(Guarantee)
    arises: Callable[[Evidence], int] = always


@dataclass(frozen=True, eq=False)
class Check:
    """``name`` is the anomaly's; ``guarantees`` are those that forbid it; ``channels`` the evidence it reads.

    ``workloads`` are those whose trials
    it judges. ``mutant`` names the one-defect client that shows that it can fail. A check is equal to itself alone.
    """

    name: str
    summary: str
    requirements: tuple[Requirement, ...]
    guarantees: frozenset[Guarantee]
    channels: frozenset[str]
    mutant: str
    find: Callable[[Evidence], list[Finding]]
    workloads: frozenset[str] = frozenset({"produce"})
