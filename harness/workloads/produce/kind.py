"""The produce workload as the harness knows it."""

from __future__ import annotations

from typing import Final

from harness.model.spec import TrialSpec
from harness.model.verdicts import Guarantee
from harness.plugins.workload import WorkloadKind
from harness.workloads.produce import settings
from harness.workloads.produce.accounting import count
from harness.workloads.produce.commands import Produce, produce
from harness.workloads.produce.profile import drawn_codec, essential, producer_config
from harness.workloads.produce.tables import MEANING, TABLES

#: The other APIs that a producer requests under any guarantee, including telemetry and SASL.
APIS: Final = (
    "Metadata",
    "ApiVersions",
    "InitProducerId",
    "FindCoordinator",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
    "SaslHandshake",
    "SaslAuthenticate",
    "GetTelemetrySubscriptions",
    "PushTelemetry",
)


def shown(spec: TrialSpec) -> dict[str, str]:
    """Return the load and the codec, in words."""
    load = spec.workload
    return {
        "workload": f"{load.records:,} records × {load.value_bytes:,} bytes, {load.partitions:,} partitions, "
        f"{load.keys:,} keys",
        "codec": str(spec.config.get("compression.type", "–")),
    }


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
    drawn=drawn_codec,
    essential=essential,
    counts=count,
    meaning=MEANING,
    outcomes=("lost", "duplicated", "reordered"),
    api="Produce",
    apis=APIS,
    role="producer",
    shown=shown,
    refused=settings.refused,
    settings=settings.SETTINGS,
    withheld=settings.WITHHELD,
    tables=TABLES,
    recounted=True,
    needed=settings.NEEDED,
)
