"""The application's plug-ins are not closed with the client."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.seeding.mutant import Mutant


class Leaky(ProducerPlugins):
    """Does not close plug-ins."""

    def close(self) -> None:
        pass


MUTANT = Mutant(
    "does not close its plug-ins",
    Components(plugins=Leaky),
    caught_by=("delivery/plug_ins_are_configured_first_and_closed_once",),
    breaks=("PRD-ISP-03",),
)
