"""A mutant of the reference client: its producer is made of components, and one of them has the defect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from harness.model.verdicts import Guarantee
from harness.plugins.mutant import PREFIX

if TYPE_CHECKING:
    from clients.reference.producer.producer import Components
    from harness.plugins.client import ClientKind

#: Two situations in which most defects show, and a random one.
SCENARIOS = ("produce/disconnect", "produce/dropped-response", "generated/any")


@dataclass(frozen=True)
class Mutant:
    """A mutant (:class:`harness.plugins.mutant.Mutant`) with its ``components``, one of them seeded.

    ``caught_by`` names properties (``suite/name``) and checks. ``scenario`` and ``guarantee`` say in which trial
    with real brokers the first of the checks catches it, where that is tried.
    """

    of: ClassVar[str] = "reference"

    defect: str
    components: Components
    caught_by: tuple[str, ...]
    breaks: tuple[str, ...]
    scenarios: tuple[str, ...] = SCENARIOS
    scenario: str = ""
    guarantee: Guarantee | None = None

    @property
    def check(self) -> str:
        """The first check that catches the mutant, or "" if only properties do."""
        return next((by for by in self.caught_by if "/" not in by), "")

    def client(self, name: str) -> ClientKind:
        """Return the reference client with the defect."""
        from clients.adapters.reference import Reference

        return Reference(name.removeprefix(PREFIX), self.defect)
