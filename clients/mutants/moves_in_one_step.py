"""A cooperative rebalance gives a partition to its new owner before the old one has given it up."""

from __future__ import annotations

from clients.reference.consumer.assignors.assignor import RebalanceProtocol
from clients.reference.consumer.assignors.round_robin_assignor import RoundRobinAssignor
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Sudden(RoundRobinAssignor):
    """Assigns as if nobody had anything."""

    supported_protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)


MUTANT = Mutant(
    "moves partitions to a new owner before the old one gave them up",
    ConsumerVariant(assignors=(Sudden,)),
    caught_by=("state_transitions/sticky_assignors_move_no_more_than_they_must",),
    breaks=("CSM-GRP-11",),
)
