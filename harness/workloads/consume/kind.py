"""The consume workload as the harness knows it."""

from __future__ import annotations

from typing import Final

from harness.model.spec import TrialSpec
from harness.model.verdicts import Guarantee
from harness.model.written import Written
from harness.plugins.workload import Param, WorkloadKind
from harness.text.counting import some
from harness.workloads.consume import settings
from harness.workloads.consume.accounting import MEANING, count
from harness.workloads.consume.commands import begin, members, written
from harness.workloads.consume.profile import consumer_config, essential
from harness.workloads.consume.tables import TABLES

#: The other APIs that a consumer requests.
APIS: Final = (
    "Metadata",
    "ApiVersions",
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "ListOffsets",
    "OffsetForLeaderEpoch",
    "ConsumerGroupHeartbeat",
    "SaslHandshake",
    "SaslAuthenticate",
    "GetTelemetrySubscriptions",
    "PushTelemetry",
)

PARAMS: Final = (
    Param("members", 1, 1, 5, "the members of the client under test with which the trial begins"),
    Param("processing_ms", 0, 0, 60_000, "how long a member works on what one poll returned"),
    Param("commit_async", 0, 0, 1, "1: members commit without waiting for the result"),
    Param("assign", 0, 0, 1, "1: members assign themselves all partitions instead of subscribing"),
    Param("codecs", 0, 0, 1, "1: the batches of the load are compressed with several codecs"),
    Param(
        "transactions", 0, 0, 1, "1: the load is written in transactions, with aborted and empty ones between"
    ),
    Param("static", 0, 0, 1, "1: members are static (group.instance.id)"),
)


def shown(spec: TrialSpec) -> dict[str, str]:
    """Return load and group in words."""
    load = spec.workload
    with_others = {"companions": ", ".join(map(str, spec.companions))} if spec.companions else {}
    return {
        "workload": f"{some(load.records, 'record')} × {load.value_bytes:,} bytes, "
        f"{some(load.partitions, 'partition')}, {some(len(members(spec)), 'member')}",
        "protocol": str(spec.config.get("group.protocol", "–")),
        **with_others,
    }


WORKLOAD: Final = WorkloadKind(
    name="consume",
    summary="the harness writes records, and the members of a group read and commit them",
    command=written,
    commands=(Written,),
    features={Guarantee.AT_MOST_ONCE: "group", Guarantee.AT_LEAST_ONCE: "group"},
    config=consumer_config,
    essential=essential,
    counts=count,
    meaning=MEANING,
    outcomes=("missed", "redelivered"),
    api="Fetch",
    apis=APIS,
    role="consumer",
    done="delivered",
    shown=shown,
    refused=settings.refused,
    settings=settings.SETTINGS,
    withheld=settings.WITHHELD,
    params=PARAMS,
    needed=settings.NEEDED,
    members=members,
    begin=begin,
    tables=TABLES,
    recounted=True,
)
