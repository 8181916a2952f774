"""The metadata of a mutant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.model.verdicts import Guarantee

if TYPE_CHECKING:
    from clients.reference.producer.producer import Components


@dataclass(frozen=True)
class Mutant:
    """A seeded defect. ``defect`` completes "the reference client, which ...". ``components`` contain the seeded class.

    ``caught_by`` lists properties (``suite/name``) and checks, each of which catches the mutant. ``breaks`` lists the
    behaviours that the defect violates directly, not those that break as a consequence. One of ``caught_by`` judges
    each of them. ``scenario`` and ``guarantee`` name the trial with real brokers in which the first check catches the
    mutant, if such a trial is run.
    """

    defect: str
    components: Components
    caught_by: tuple[str, ...]
    breaks: tuple[str, ...]
    scenario: str = ""
    guarantee: Guarantee | None = None

    @property
    def check(self) -> str:
        """The first check that catches the mutant, or "" if only properties do."""
        return next((by for by in self.caught_by if "/" not in by), "")
