"""Plans played without a JVM on two scripted clusters, which must agree unless one of them was broken on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from testkit.fidelity.compare import Difference, differences
from testkit.fidelity.player import Played, play
from testkit.fidelity.scripted_side import ScriptedSide
from testkit.fidelity.steps import FidelityPlan

START_MS = 1_750_000_000_000

Agree = Callable[..., list[Difference]]


def played(plan: FidelityPlan, version: str) -> Played:
    addresses = {node: ("127.0.0.1", 9000 + node) for node in range(1, plan.nodes + 1)}
    return asyncio.run(play(plan, ScriptedSide(version, addresses, START_MS)))


@pytest.fixture
def differing(monkeypatch: pytest.MonkeyPatch) -> Agree:
    """Return a function that plays a plan on a correct and a broken scripted cluster, and returns the differences."""

    def differing(
        plan: FidelityPlan, version: str, sabotage: Callable[[pytest.MonkeyPatch], None]
    ) -> list[Difference]:
        sound = played(plan, version)
        with monkeypatch.context() as patch:
            sabotage(patch)
            broken = played(plan, version)
        return [difference for difference in differences(plan, sound, broken) if difference.known is None]

    return differing
