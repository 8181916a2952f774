"""What every drawing of a plan needs: dice, weights, and versions of the brokers' release."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.brokers.scripted.releases import release
from harness.model.dice import Dice
from harness.wire.apis import Api
from testkit.fidelity import steps as s

Kinds = Sequence[tuple[int, Callable[[], list[s.Step]]]]
"""Functions that draw steps, with their weights."""


class Drawing:
    """The dice of one plan. ``about`` distinguishes the kinds of plans with the same seed."""

    def __init__(self, about: str, seed: int, version: str, nodes: int) -> None:
        self.dice = Dice(seed, f"fidelity/{about}/{version}x{nodes}")
        self.seed = seed
        self.nodes = nodes
        self.ranges = release(version).ranges

    def one_in(self, n: int) -> bool:
        return self.dice.between(1, n) == 1

    def some(self, kinds: Kinds) -> list[s.Step]:
        """Draw one of the kinds by its weight, and let it draw."""
        at = self.dice.between(1, sum(weight for weight, _ in kinds))
        for weight, kind in kinds:
            at -= weight
            if at <= 0:
                return kind()
        raise AssertionError

    def version(self, api: Api, low: int = 0) -> int:
        """Return a supported version from ``low`` on, or occasionally the one above the highest."""
        lowest, high = self.ranges[api]
        if self.one_in(40):
            return min(high + 1, s.HIGHEST[api])
        return self.dice.between(max(low, lowest), high)
