"""What a row of the table of mutants says."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.verdicts import Guarantee

TRANSITIONS, EXPIRY, DELIVERY = "state_transitions/", "timeout_expiry/", "delivery/"
"""The suites of laws, for the names of those that catch."""


@dataclass(frozen=True)
class Mutant:
    """``defect`` completes "the reference client, which ..."; the file of the mutant's name has the ``COMPONENTS``.

    ``caught_by`` are laws (``suite/name``) and checks, each of which catches it; ``breaks`` the behaviours that are
    its own defect, all of them judged by one of those: what else breaks as a consequence is not here. ``scenario`` and
    ``guarantee`` say in which trial with real
    brokers the first of the checks catches it, where that is tried.
    """

    defect: str
    caught_by: tuple[str, ...]
    breaks: tuple[str, ...]
    scenario: str = ""
    guarantee: Guarantee | None = None

    @property
    def check(self) -> str:
        """The first check that catches it; "" where laws alone do."""
        return next((by for by in self.caught_by if "/" not in by), "")
