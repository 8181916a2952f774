"""Bisect the versions of a client: try both ends, then repeatedly the middle version of the remaining ones.

Each version is installed and tried with all seeds at once. With an intermittent failure, a bad version could seem good.
If the bad end does not always fail, all versions are therefore tried with more seeds.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.model.errors import KafkaTrialError
from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, TrialSpec
from harness.plugins.client import InstalledClient
from harness.running.install import installed
from harness.search.bisect_search import VersionState, bracket, next_to_try
from harness.search.criteria import Criterion
from harness.search.trial_batches import BudgetUsedUp, GrowingRun, anomalies


@dataclass
class Bisection:
    """The state of a bisection, from the good end to the bad one. ``clients`` are the installed ones.

    If ``is_mended`` is True, the good end is the newer one.
    """

    name: str
    versions: Sequence[str]
    trials_of: Callable[[str, int], Sequence[TrialSpec]]
    seeds: int
    criterion: Criterion
    is_mended: bool
    clients: dict[ClientRef, InstalledClient]
    say: Callable[[str], None] = lambda _: None
    seen: dict[str, VersionState] = field(default_factory=dict)
    verdicts: dict[str, list[TrialVerdict]] = field(default_factory=dict)
    #: Why a version was skipped without a trial.
    lacks: dict[str, str] = field(default_factory=dict)
    ran_out: bool = False
    install: Callable[[ClientRef], InstalledClient] = installed

    async def run(self, run: GrowingRun) -> None:
        """Try both ends together, then repeatedly the middle version of the remaining ones."""
        try:
            good, bad = self.versions[0], self.versions[-1]
            await self._try(run, [good, bad])
            if self.is_as_said and (seeds := self.criterion.seeds(self.verdicts[bad])) > self.seeds:
                self.say(
                    f"{bad} does not always fail: using {seeds} seeds each, so that a similar version is not missed"
                )
                self.seeds = seeds
                await self._try(run, [good])
            while self.is_as_said and (version := next_to_try(self.versions, self.seen)) is not None:
                if await self._is_installed(version):
                    await self._try(run, [version])
        except BudgetUsedUp:
            self.ran_out = True

    @property
    def is_as_said(self) -> bool:
        """True if the good end is good and the bad end is bad."""
        first, last = self.versions[0], self.versions[-1]
        return self.seen.get(first) is VersionState.GOOD and self.seen.get(last) is VersionState.BAD

    @property
    def bracket(self) -> tuple[str, str]:
        """The last good version and the first bad one that are known."""
        good, bad = bracket(self.versions, self.seen)
        return self.versions[good], self.versions[bad]

    @property
    def untold(self) -> list[str]:
        """The versions between those two, which may be on either side."""
        good, bad = bracket(self.versions, self.seen)
        return list(self.versions[good + 1 : bad])

    @property
    def failing(self) -> TrialVerdict:
        """A trial of the first bad version that shows the failure."""
        _, bad = self.bracket
        shows = (each for each in self.verdicts[bad] if self.criterion.state([each]) is VersionState.BAD)
        return next(shows, self.verdicts[bad][0])

    async def _is_installed(self, version: str) -> bool:
        ref = ClientRef(self.name, version)
        try:
            self.clients[ref] = await asyncio.to_thread(self.install, ref)
        except KafkaTrialError as problem:
            self.seen[version], self.lacks[version] = VersionState.SKIPPED, str(problem)
            self.say(f"{version}: skipped: {problem}")
            return False
        return True

    async def _try(self, run: GrowingRun, versions: Sequence[str]) -> None:
        first, last = self.versions[0], self.versions[-1]
        asked_for = {version: self.trials_of(version, self.seeds) for version in versions}
        new = [spec for specs in asked_for.values() for spec in specs if run.verdict(spec) is None]
        await run.extend(new)
        for version, specs in asked_for.items():
            verdicts = [verdict for spec in specs if (verdict := run.verdict(spec)) is not None]
            if len(verdicts) < len(specs):
                raise BudgetUsedUp
            self.verdicts[version] = verdicts
        if {first, last} <= self.verdicts.keys():
            self.criterion.learn(self.verdicts[first], self.verdicts[last])
        for version in asked_for:
            told, verdicts = self.criterion.seen(self.verdicts[version]), self.verdicts[version]
            self.seen[version] = self.criterion.state(verdicts)
            self.say(
                f"{version}: {', '.join(filter(None, (str(self.seen[version]), told)))}: {_counts(verdicts)}"
            )


def _counts(verdicts: Sequence[TrialVerdict]) -> str:
    """Return the number of trials per verdict, with the anomalies found."""
    came = Counter(
        f"{verdict.verdict} ({', '.join(found)})" if (found := anomalies(verdict)) else verdict.verdict
        for verdict in verdicts
    )
    return ", ".join(f"{count} {what}" for what, count in came.most_common())
