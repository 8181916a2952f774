"""If a plug-in cannot be created, those created before it stay open."""

from __future__ import annotations

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.seeding.mutant import Mutant


class Careless(ProducerPlugins):
    """Closes plug-ins only if all of them were created."""

    _is_made = False

    def __init__(self, config: ProducerConfig) -> None:
        super().__init__(config)
        self._is_made = True

    def close(self) -> None:
        if self._is_made:
            super().close()


MUTANT = Mutant(
    "leaves plug-ins open if a later one cannot be created",
    Components(plugins=Careless),
    caught_by=("delivery/plug_ins_are_configured_first_and_closed_once",),
    breaks=("PRD-ISP-03",),
)
