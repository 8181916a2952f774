"""If an interceptor raises, the record is not sent."""

from __future__ import annotations

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.interceptors import Interceptors, ProducerRecord
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.seeding.mutant import Mutant


class Fragile(Interceptors):
    """Does not catch the errors of interceptors."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        for interceptor in self._chain:
            record = interceptor.on_send(record)
        return record


class FragilePlugins(ProducerPlugins):
    """Uses ``Fragile``."""

    def __init__(self, config: ProducerConfig) -> None:
        super().__init__(config)
        self.interceptors = Fragile(self.interceptors._chain)


MUTANT = Mutant(
    "lets an interceptor that raises keep the record from the interceptors after it",
    Components(plugins=FragilePlugins),
    caught_by=("delivery/interceptors_pass_the_last_good_record_on",),
    breaks=("PRD-ISP-01",),
)
