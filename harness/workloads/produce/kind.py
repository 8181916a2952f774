"""The produce workload as the harness knows it."""

from __future__ import annotations

from typing import Final

from harness.model.verdicts import Guarantee
from harness.plugins.workload import WorkloadKind
from harness.workloads.produce import settings
from harness.workloads.produce.accounting import count
from harness.workloads.produce.commands import Produce, produce
from harness.workloads.produce.profile import producer_config
from harness.workloads.produce.tables import MEANING, TABLES

WORKLOAD: Final = WorkloadKind(
    name="produce",
    summary="the client sends records, which are read back from the log",
    command=produce,
    commands=(Produce,),
    features={
        Guarantee.AT_MOST_ONCE: "producer",
        Guarantee.AT_LEAST_ONCE: "producer",
        Guarantee.IDEMPOTENT: "idempotence",
        Guarantee.TRANSACTIONAL: "transactions",
    },
    config=producer_config,
    counts=count,
    meaning=MEANING,
    api="Produce",
    refused=settings.refused,
    settings=settings.SETTINGS,
    tables=TABLES,
    recounted=True,
    needed=settings.NEEDED,
)
