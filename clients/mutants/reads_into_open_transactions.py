"""The consumer reads with isolation.level=read_uncommitted, whatever it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Reader(Fetcher):
    """Asks for everything."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._settings = replace(self._settings, isolation_level="read_uncommitted")


MUTANT = Mutant(
    "asks brokers for records that are not committed although it reads committed ones only",
    Components(fetcher=Reader),
    caught_by=("delivery/an_open_transaction_holds_up_what_follows", "uncommitted-record"),
    breaks=("CSM-FET-05",),
    scenarios=("consume/open-transaction",),
)
