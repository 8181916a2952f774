"""A check: a pure function from evidence to findings, with what it declares about itself.

It never runs while evidence is being collected, reads nothing but the evidence, and is merged only with a
mutant that it catches. The docstring of its module is its published page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.evidence import Evidence
from harness.outcome import Guarantee, Level
from harness.rows import Finding


class Unsupported(Exception):
    """Raised by a check of something that this client, so configured, does not claim; with the reason."""


class Inconclusive(Exception):
    """Raised by a check that cannot tell, with the reason: the trial was disturbed, the client is not to blame."""


@dataclass(frozen=True)
class Requirement:
    """A behaviour id of the catalogue with its level, and the guarantees under which it binds."""

    id: str
    level: Level
    guarantees: frozenset[Guarantee] = frozenset(Guarantee)


@dataclass(frozen=True, eq=False)
class Check:
    """``name`` is the anomaly's; ``guarantees`` are those that forbid it; ``channels`` the evidence it reads.

    ``mutant`` names the one-defect client that shows that the check can fail. A check is equal to itself alone.
    """

    name: str
    summary: str
    requirements: tuple[Requirement, ...]
    guarantees: frozenset[Guarantee]
    channels: frozenset[str]
    mutant: str
    find: Callable[[Evidence], list[Finding]]
