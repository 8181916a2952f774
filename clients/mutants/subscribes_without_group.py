"""subscribe() is accepted without a group.id. Nothing is read, and no error says why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clients.reference.consumer.calls import Call
from clients.reference.consumer.consumer import ConsumerCore
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Silent(ConsumerCore):
    """Subscribes whether there is a group or not."""

    def subscribe(self, topics: Iterable[str], listener: Any = None) -> Call[None]:
        if self._config.group_id is None:
            return
        yield from super().subscribe(topics, listener)


MUTANT = Mutant(
    "accepts a subscription without a group.id, and reads nothing",
    ConsumerVariant(core=Silent),
    caught_by=("state_transitions/calls_of_a_group_need_its_id",),
    breaks=("CLI-CFG-05",),
)
