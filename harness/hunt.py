"""One failure made small: is it there, how often; the search round by round; and what came out, confirmed.

Nothing is claimed that was not shown. A failure that comes now and then is tried so often that it is seldom missed,
what comes out is tried anew (it was chosen because it failed), and one that does not fail again is not the answer, but
the last before it that does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness import shrinking
from harness.shrinking import Proof
from harness.smaller import size
from harness.spec import TrialSpec
from harness.tries import BudgetUsedUp, How, Tally, Tries, anomalies

#: How often a failure is looked for at first, and what comes out is tried; and how often at most, if it is not there.
STARTS, MOST_STARTS = 3, 9
#: How often what is only simpler has to fail, one time after the other.
STEADY = 2


def some(count: int, noun: str) -> str:
    """So many of a thing, in words."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


@dataclass(frozen=True)
class Rate:
    """In how many attempts it failed."""

    failed: int
    tried: int


@dataclass
class Hunt:
    """Shrinks ``original``, of which some of the ``wanted`` anomalies (none: any) is to stay.

    ``attempts`` None: chosen by how often the original fails. ``starts`` is 1 where a trial is the same each time.
    """

    original: TrialSpec
    wanted: Sequence[str]
    allowed: shrinking.Allowed
    tries: Tries
    tiers: shrinking.Tiers = shrinking.TIERS
    attempts: int | None = None
    starts: int = STARTS
    say: Callable[[str], None] = lambda _: None
    #: The anomaly that is looked for; empty as long as none was seen.
    anomaly: str = ""
    rounds: int = 0
    ran_out: bool = False
    confirmed: Rate | None = None
    _path: list[TrialSpec] = field(default_factory=list)

    async def run(self) -> None:
        """All of it, as far as the budget goes; what was found by then is there also if this is cancelled."""
        try:
            if await self._is_there():
                await self._search()
                await self._confirm()
        except BudgetUsedUp:
            self.ran_out = True

    @property
    def minimal(self) -> TrialSpec:
        """The smallest that is known to fail."""
        if self.confirmed is not None:
            return self._path[-1]
        failed = [tally.spec for tally in self.tries.tallies if self.anomaly and tally.failed(self.anomaly)]
        return min([self.original, *failed], key=size)

    def rate(self, spec: TrialSpec) -> Rate:
        """How often it failed, of all attempts."""
        tally = self.tries.tally(spec)
        return Rate(tally.failed(self.anomaly), len(tally.told))

    @property
    def is_one_minimal(self) -> bool:
        """True if without any one of its faults it did not fail, in as many attempts as it takes."""
        fewer = shrinking.without_each(self.minimal, self.allowed)
        rates = [self.rate(spec) for spec in fewer]
        return self.attempts is not None and all(
            rate.failed == 0 and rate.tried >= self.attempts for rate in rates
        )

    async def _is_there(self) -> bool:
        tally = self.tries.tally(self.original)
        for times in range(self.starts, MOST_STARTS + 1, self.starts):
            await self.tries.attempt(self.original, times)
            self.anomaly = self._chosen(tally)
            if self.anomaly or self.starts == 1:
                break
        if not self.anomaly:
            return False
        rate = self.rate(self.original)
        if self.attempts is None:
            self.attempts = shrinking.attempts_for(rate.failed, rate.tried)
        self.say(
            f"{self.anomaly}: the original failed {rate.failed} of {some(rate.tried, 'time')}; what does not fail "
            f"in {some(self.attempts, 'attempt')} is taken for a schedule that does not"
        )
        return True

    def _chosen(self, tally: Tally) -> str:
        """The anomaly that came most often, of those that are wanted; empty if none came."""
        came = Counter(each for verdict in tally.told for each in anomalies(verdict))
        known = [each for each in self.wanted or came if came[each]]
        return max(known, key=lambda each: came[each], default="")

    async def _search(self) -> None:
        assert self.attempts is not None
        search = shrinking.shrink(self.original, self.allowed, self.tiers)
        self._path = [self.original]
        failed: list[bool] | None = None
        while True:
            try:
                asked = next(search) if failed is None else search.send(failed)
            except StopIteration as end:
                self._follow(end.value)
                return
            self._follow(asked.so_far)
            before = self.tries.trials
            failed = await self.tries.failing(
                asked.candidates, self.anomaly, self._how(asked.proof), any_will_do=asked.any_will_do
            )
            if self.tries.trials > before:
                self.rounds += 1
                self.say(
                    f"round {self.rounds}, {asked.what}: {sum(failed)} of {some(len(failed), 'schedule')} failed "
                    f"({some(self.tries.trials - before, 'trial')})"
                )

    def _how(self, proof: Proof) -> How:
        assert self.attempts is not None
        if proof is Proof.ONCE:
            return How(self.attempts)
        if (
            self.starts == 1 or self.attempts > 1
        ):  # it is the same each time, or so rare that nothing is steady
            return How(1, each=True)
        return How(STEADY if proof is Proof.STEADY else STEADY + self.starts, each=True)

    def _follow(self, spec: TrialSpec) -> None:
        """The search stands here now; where it came back, what was behind did not hold."""
        if spec in self._path:
            del self._path[self._path.index(spec) :]
        self._path.append(spec)

    async def _confirm(self) -> None:
        assert self.attempts is not None
        while (spec := self._path[-1]) != self.original:
            before = self.rate(spec)
            await self.tries.attempt(spec, before.tried + max(self.starts, self.attempts))
            after = self.rate(spec)
            if after.failed > before.failed:
                self.confirmed = Rate(after.failed - before.failed, after.tried - before.tried)
                return
            self.say("the smallest schedule did not fail again: the one before it is looked at")
            self._path.pop()
        self.confirmed = self.rate(self.original)
