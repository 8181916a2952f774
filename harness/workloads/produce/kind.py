"""The produce workload as the harness knows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.model.load import bounds
from harness.model.spec import TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.plugins.workload import WorkloadKind
from harness.text.counting import some
from harness.workloads.produce import settings
from harness.workloads.produce.accounting import count
from harness.workloads.produce.commands import Produce, produce
from harness.workloads.produce.profile import drawn_codec, essential, producer_config
from harness.workloads.produce.setting_meanings import MEANINGS
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
        "workload": f"{some(load.records, 'record')} × {_sizes(load)} bytes, {some(load.partitions, 'partition')}, "
        f"{some(load.keys, 'key')}{''.join(_chosen(load))}",
        "codec": str(spec.config.get("compression.type", "–")),
    }


def _sizes(load: Workload) -> str:
    low, high = (load.value_bytes,) * 2 if load.shape.sizes is None else bounds(load.shape.sizes)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _chosen(load: Workload) -> Iterator[str]:
    """Yield what the user chose besides, in words."""
    shape = load.shape
    if shape.rate:
        yield f", {shape.rate:,} a second"
    if shape.burst:
        yield f" with {shape.burst:,} at once every {shape.burst_every_ms:,} ms"
    if shape.skew_percent:
        yield f", skew {shape.skew_percent / 100:g}"
    if shape.payloads:
        yield f", {some(len(shape.payloads), 'payload')}"
    if shape.is_split:
        yield f", {some(shape.producers, 'producer')}, {some(shape.topics, 'topic')}"


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
    setting_meanings=MEANINGS,
    withheld=settings.WITHHELD,
    tables=TABLES,
    recounted=True,
    needed=settings.NEEDED,
)
