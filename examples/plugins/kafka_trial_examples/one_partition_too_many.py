"""The mutant ``one-partition-too-many``: the client of this package with one defect, which its check must find."""

from __future__ import annotations

from typing import Final

from kafka_trial.api import ClientKind
from kafka_trial_examples.behaviours import RIGHT
from kafka_trial_examples.client.kind import NAME, LookupKind


class OnePartitionTooMany:
    """See :class:`kafka_trial.api.Mutant`."""

    of = NAME
    defect = "answers one partition too many"
    caught_by = ("wrong-partition-count",)
    breaks = (RIGHT,)
    scenarios = ("lookup/calm", "lookup/late-answers")

    def client(self, name: str) -> ClientKind:
        """Return the client with the defect."""
        return LookupKind(name, f"the client {self.of}, which {self.defect}")


MUTANT: Final = OnePartitionTooMany()
