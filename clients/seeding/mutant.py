"""A mutant of the reference client: its producer or its consumer is made of components, and one has the defect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from clients.reference.consumer.components import Components as ConsumerComponents
from clients.reference.producer.producer import Components as ProducerComponents
from harness.model.verdicts import Guarantee
from harness.plugins.mutant import PREFIX

if TYPE_CHECKING:
    from harness.plugins.client import ClientKind

#: Two situations in which most defects of a producer show, and a random one.
SCENARIOS = ("produce/disconnect", "produce/dropped-response", "generated/any")
#: Situations in which partitions move from one consumer to another.
MOVES = ("group/kill", "group/join", "group/leave")
#: Situations in which a consumer has little more to do than to read.
READS = ("consume/disconnect", "group/join")


@dataclass(frozen=True)
class Mutant:
    """A mutant (:class:`harness.plugins.mutant.Mutant`) with its ``components``, one of them seeded.

    The kind of ``components`` says on which side the defect is. The other side has none. A mutant of the consumer must
    name its ``scenarios``.

    ``caught_by`` names properties (``suite/name``) and checks. ``scenario`` and ``guarantee`` say in which trial
    with real brokers the first of the checks catches it, where that is tried.
    """

    of: ClassVar[str] = "reference"

    defect: str
    components: ProducerComponents | ConsumerComponents
    caught_by: tuple[str, ...]
    breaks: tuple[str, ...]
    scenarios: tuple[str, ...] = SCENARIOS
    scenario: str = ""
    guarantee: Guarantee | None = None

    @property
    def producer(self) -> ProducerComponents:
        """The components of its producer, which are the usual ones if the consumer has the defect."""
        return self.components if isinstance(self.components, ProducerComponents) else ProducerComponents()

    @property
    def consumer(self) -> ConsumerComponents:
        """The components of its consumer, which are the usual ones if the producer has the defect."""
        return self.components if isinstance(self.components, ConsumerComponents) else ConsumerComponents()

    @property
    def check(self) -> str:
        """The first check that catches the mutant, or "" if only properties do."""
        return next((by for by in self.caught_by if "/" not in by), "")

    def client(self, name: str) -> ClientKind:
        """Return the reference client with the defect."""
        from clients.adapters.reference import Reference

        return Reference(name.removeprefix(PREFIX), self.defect)
