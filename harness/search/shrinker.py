"""Shrink one failure: measure how often it occurs, search round by round, and confirm the result.

The results claim only what attempts have shown. An intermittent failure is tried so often that it is rarely missed. The
result is tried again, because it was selected for having failed. If it does not fail again, the search continues from
the previous schedule that does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.model.spec import TrialSpec
from harness.search import shrink_passes
from harness.search.reductions import size
from harness.search.shrink_passes import Proof
from harness.search.trial_batches import AttemptStats, BudgetUsedUp, FailureCriterion, TrialBatches, anomalies
from harness.text.counting import some

#: The initial number of attempts to find a failure, and of those to confirm the result; and the maximum if it is not
#: found.
STARTS, MOST_STARTS = 3, 9
#: How often in succession a merely simpler schedule has to fail.
STEADY = 2
#: The factor by which the needed attempts must grow for another search. Rates of few attempts are imprecise.
RARER = 2


@dataclass(frozen=True)
class Rate:
    """The number of failures, and of attempts."""

    failed: int
    tried: int

    @property
    def share(self) -> float:
        """The failure rate from 0 (never) to 1 (always)."""
        return self.failed / self.tried if self.tried else 0.0


@dataclass
class Shrinker:
    """Shrinks ``original`` so that one of the ``wanted`` anomalies (none: any) remains.

    ``given`` is how often to try a schedule that may not fail. None derives it from how often the original fails, and
    again if the result fails less often. ``starts`` is 1 if a trial has the same result each time.
    """

    original: TrialSpec
    wanted: Sequence[str]
    allowed: shrink_passes.Allowed
    batches: TrialBatches
    tiers: shrink_passes.Tiers = shrink_passes.TIERS
    given: int | None = None
    starts: int = STARTS
    say: Callable[[str], None] = lambda _: None
    #: The anomaly of the search; empty until one is seen.
    anomaly: str = ""
    #: How often a schedule that may not fail is tried; 0 until known.
    attempts: int = 0
    rounds: int = 0
    ran_out: bool = False
    confirmed: Rate | None = None
    #: The path from the original to the current schedule, and the schedules on it that were refuted.
    _path: list[TrialSpec] = field(default_factory=list)
    _refuted: list[TrialSpec] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._path.append(self.original)

    async def run(self) -> None:
        """Run the whole search within the budget. Its results so far remain available if it is cancelled."""
        try:
            if not await self._is_there():
                return
            while True:
                refuted = len(self._refuted)
                await self._search()
                await self._confirm()
                if len(self._refuted) == refuted and not self._is_rarer_than_thought():
                    return
                self.confirmed = None
        except BudgetUsedUp:
            self.ran_out = True

    @property
    def minimal(self) -> TrialSpec:
        """The smallest schedule that is known to fail, and that did not seem to fail less often than the original."""
        if self.confirmed is not None or not self.anomaly:
            return self._path[-1]
        often = self.rate(self.original).share
        return min(
            (each.spec for each in self.batches.all_stats if self.rate(each.spec).share >= often), key=size
        )

    def rate(self, spec: TrialSpec) -> Rate:
        """Return how often a schedule failed, of all its attempts."""
        stats = self.batches.stats(spec)
        return Rate(stats.failed(self.anomaly), len(stats.told))

    @property
    def is_one_minimal(self) -> bool:
        """True if the minimal schedule was tried often enough without each of its faults, and never failed."""
        rates = map(self.rate, shrink_passes.without_each(self.minimal))
        return self.attempts > 0 and all(rate.failed == 0 and rate.tried >= self.attempts for rate in rates)

    async def _is_there(self) -> bool:
        stats = self.batches.stats(self.original)
        for times in range(self.starts, MOST_STARTS + 1, self.starts):
            await self.batches.attempt(self.original, times)
            self.anomaly = self._chosen(stats)
            if self.anomaly or self.starts == 1:
                break
        if not self.anomaly:
            return False
        rate = self.rate(self.original)
        self.attempts = self.given or shrink_passes.attempts_for(rate.failed, rate.tried)
        self.say(
            f"{self.anomaly}: the original failed {rate.failed} of {some(rate.tried, 'time')}; a schedule "
            f"without a failure in {some(self.attempts, 'attempt')} counts as passing"
        )
        return True

    def _chosen(self, stats: AttemptStats) -> str:
        """Return the most frequent wanted anomaly, or "" if none occurred."""
        came = Counter(each for verdict in stats.told for each in anomalies(verdict))
        known = [each for each in self.wanted or came if came[each]]
        return max(known, key=lambda each: came[each], default="")

    async def _search(self) -> None:
        search = shrink_passes.shrink(self._path[-1], self._is_worth_a_try, self.tiers)
        failed: list[bool] | None = None
        while True:
            try:
                asked = next(search) if failed is None else search.send(failed)
            except StopIteration as end:
                self._follow(end.value)
                return
            self._follow(asked.so_far)
            before = self.batches.trials
            failed = await self.batches.failing(
                asked.candidates, self.anomaly, self._how(asked.proof), any_will_do=asked.any_will_do
            )
            if self.batches.trials > before:
                self.rounds += 1
                self.say(
                    f"round {self.rounds}, {asked.what}: {sum(failed)} of {some(len(failed), 'schedule')} failed "
                    f"({some(self.batches.trials - before, 'trial')})"
                )

    def _how(self, proof: Proof) -> FailureCriterion:
        if proof is Proof.ONCE:
            return FailureCriterion(self.attempts)
        # The result is the same each time, or failures are so rare that none is steady.
        if self.starts == 1 or self.attempts > 1:
            return FailureCriterion(1, each=True)
        return FailureCriterion(STEADY if proof is Proof.STEADY else STEADY + self.starts, each=True)

    def _is_rarer_than_thought(self) -> bool:
        """Return True if the result fails so rarely that the search may have missed failures and must be repeated."""
        assert self.confirmed is not None
        needed = shrink_passes.attempts_for(self.confirmed.failed, self.confirmed.tried)
        if self.given is not None or needed < RARER * self.attempts:
            return False
        self.say(
            f"it failed {self.confirmed.failed} of {some(self.confirmed.tried, 'time')}: "
            f"each is tried up to {some(needed, 'time')} now"
        )
        self.attempts = needed
        return True

    def _is_worth_a_try(self, spec: TrialSpec) -> bool:
        return spec not in self._refuted and self.allowed(spec)

    def _follow(self, spec: TrialSpec) -> None:
        """Move to ``spec``. If it is on the path already, the schedules after it did not hold."""
        if spec in self._path:
            del self._path[self._path.index(spec) :]
        self._path.append(spec)

    async def _confirm(self) -> None:
        while (spec := self._path[-1]) != self.original:
            before = self.rate(spec)
            await self.batches.attempt(spec, before.tried + max(self.starts, self.attempts))
            after = self.rate(spec)
            if after.failed > before.failed:
                self.confirmed = Rate(after.failed - before.failed, after.tried - before.tried)
                return
            self.say("the smallest schedule did not fail again: back to the one before it")
            self._refuted.append(self._path.pop())
        self.confirmed = self.rate(self.original)
