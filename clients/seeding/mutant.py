"""What a mutant says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.model.verdicts import Guarantee

if TYPE_CHECKING:
    from clients.reference.producer.producer import Components


@dataclass(frozen=True)
class Mutant:
    """``defect`` completes "the reference client, which ..."; ``components`` are the client's, one of them seeded.

    ``caught_by`` are properties (``suite/name``) and checks, each of which catches it; ``breaks`` the behaviours that are
    its own defect, all of them judged by one of those: what else breaks as a consequence is not here. ``scenario`` and
    ``guarantee`` say in which trial with real brokers the first of the checks catches it, where that is tried.
    """

    defect: str
    components: Components
    caught_by: tuple[str, ...]
    breaks: tuple[str, ...]
    scenario: str = ""
    guarantee: Guarantee | None = None

    @property
    def check(self) -> str:
        """The first check that catches it; "" where properties alone do."""
        return next((by for by in self.caught_by if "/" not in by), "")
