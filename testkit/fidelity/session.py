"""Play many plans on one real cluster, and compare each with a new scripted cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.brokers.local import LOCAL
from testkit.fidelity.compare import Difference, differences
from testkit.fidelity.player import Played, play
from testkit.fidelity.real_side import RealSide, addresses
from testkit.fidelity.scripted_side import ScriptedSide
from testkit.fidelity.steps import FidelityPlan

#: Some plans send batches that are days old. With Kafka's own interval, it remembers their producers for ten minutes.
#: Empty groups are not deleted during a session. With one thread for requests, and one partition for all groups, what
#: is sent first is handled first. Without an interval and a thread of its own for the assignor, an assignment of a
#: group of KIP-848 is made when a heartbeat needs it. Its members stay during a plan, however slow the machine is.
CONFIG: Final = {
    "producer.id.expiration.check.interval.ms": "600000",
    "num.io.threads": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.retention.check.interval.ms": "86400000",
    "group.consumer.session.timeout.ms": "60000",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.assignor.offload.enable": "false",
}


@dataclass(slots=True)
class Figures:
    """The results of a session."""

    version: str
    nodes: int
    plans: int = 0
    steps: int = 0
    values: int = 0
    batches: int = 0
    late: int = 0
    unknown: list[Difference] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)

    def add(self, plan: FidelityPlan, real: Played, scripted: Played) -> None:
        """Count a plan that was played on both sides."""
        self.plans += 1
        self.steps += len(plan.steps)
        self.batches += sum(len(log["batches"]) for log in real.logs.values())
        self.late += len(real.late)
        for heard in (*real.heard, *real.late.values()):
            self._count(heard)
        for difference in differences(plan, real, scripted):
            if difference.known is None:
                self.unknown.append(difference)
            else:
                name = difference.known.name
                self.known[name] = self.known.get(name, 0) + 1

    def _count(self, heard: object) -> None:
        """Count every value that was compared, and the error codes among them."""
        match heard:
            case dict():
                for key, each in heard.items():
                    if key in ("error_code", "partition_error_code"):
                        self.codes[str(each)] = self.codes.get(str(each), 0) + 1
                    self._count(each)
            case list():
                for each in heard:
                    self._count(each)
            case None:
                pass
            case "closed":
                self.codes["closed"] = self.codes.get("closed", 0) + 1
            case _:
                self.values += 1


async def compare(
    version: str,
    nodes: int,
    plans: Iterable[FidelityPlan],
    log_dir: Path,
    transaction_version: int | None = None,
) -> Figures:
    """Start a real cluster, and play each plan on it and on a new scripted cluster.

    ``transaction_version`` is the level of the feature of that name, or None for that of a new cluster.
    """
    figures = Figures(version, nodes)
    async with LOCAL.cluster(f"{version}x{nodes}", 0, log_dir, CONFIG) as cluster:
        real = RealSide(cluster)
        try:
            await real.prepare()
            if transaction_version is not None:
                await real.set_transaction_version(transaction_version)
            for plan in plans:
                scripted = ScriptedSide(version, addresses(cluster), real.now_ms())
                if transaction_version is not None:
                    scripted.cluster.set_transaction_version(transaction_version)
                said = await play(plan, scripted)
                figures.add(plan, await play(plan, real, said.arrivals), said)
        finally:
            await real.close()
    return figures
