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

#: Some plans send batches that are days old. With this value, Kafka does not forget their producers for ten minutes.
AS_SHIPPED: Final = {"producer.id.expiration.check.interval.ms": "600000"}


@dataclass(slots=True)
class Figures:
    """The results of a session."""

    version: str
    nodes: int
    plans: int = 0
    steps: int = 0
    values: int = 0
    batches: int = 0
    unknown: list[Difference] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)

    def add(self, plan: FidelityPlan, real: Played, scripted: Played) -> None:
        """Count a plan that was played on both sides."""
        self.plans += 1
        self.steps += len(plan.steps)
        self.batches += sum(len(log["batches"]) for log in real.logs.values())
        for heard in real.heard:
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
                    if key == "error_code":
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


async def compare(version: str, nodes: int, plans: Iterable[FidelityPlan], log_dir: Path) -> Figures:
    """Start a real cluster, and play each plan on it and on a new scripted cluster."""
    figures = Figures(version, nodes)
    async with LOCAL.cluster(f"{version}x{nodes}", 0, log_dir, AS_SHIPPED) as cluster:
        real = RealSide(cluster)
        try:
            await real.prepare()
            for plan in plans:
                scripted = ScriptedSide(version, addresses(cluster), real.now_ms())
                heard = await play(plan, real)
                figures.add(plan, heard, await play(plan, scripted))
        finally:
            await real.close()
    return figures
