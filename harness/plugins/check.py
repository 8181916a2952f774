"""A check: a pure function from evidence to findings, with its declarations.

A check never runs while evidence is being collected, and it reads only the evidence. It is merged only together with
a mutant that it catches. The docstring of its module is its published page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.model.evidence import Evidence
from harness.model.rows import Finding, Reason
from harness.model.verdicts import Guarantee, Level


class NoOpinion(Exception):
    """Raised by a check that cannot judge this trial.

    ``reason`` is the :class:`~harness.model.rows.Reason`: code and parameters.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


class Unsupported(NoOpinion):
    """Raised by a check of something that the client does not claim in this configuration."""


class NotExercised(NoOpinion):
    """Raised by a check of something that a setting of the user rules out; the client is not the cause."""


class Inconclusive(NoOpinion):
    """Raised by a check that cannot decide because the trial was disturbed; the client is not the cause."""


def always(_: Evidence) -> int:
    """Return 1: the situation of a requirement that every trial exercises."""
    return 1


@dataclass(frozen=True)
class Requirement:
    """A behaviour id of the catalogue with its level, and the guarantees under which it applies.

    ``arises`` counts how often the situation that the behaviour describes arose in a trial. If it never arose, the
    behaviour was not exercised, which is not a pass.
    """

    id: str
    level: Level
    guarantees: frozenset[Guarantee] = frozenset(Guarantee)
    arises: Callable[[Evidence], int] = always


@dataclass(frozen=True, eq=False)
class Check:
    """One check. It is equal only to itself.

    ``name`` is the name of the anomaly, ``guarantees`` are those that forbid it, ``requires`` the evidence that it
    reads, and ``workloads`` those whose trials it judges. ``killed_mutant`` names the one-defect client that shows that
    it can fail.
    """

    name: str
    summary: str
    requirements: tuple[Requirement, ...]
    guarantees: frozenset[Guarantee]
    requires: frozenset[str]
    killed_mutant: str
    run: Callable[[Evidence], list[Finding]]
    workloads: frozenset[str] = frozenset({"produce"})
