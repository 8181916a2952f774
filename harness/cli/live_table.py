"""The progress display on stderr while a plan runs.

On a terminal it is a table that is redrawn: done of planned, verdicts, time left, and the trials that have run longest
with the fault that is in effect. Elsewhere it is one line per trial, with the reason if the trial did not pass, and a
regular progress line.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from harness.cli.console import cell, console, say, shown, situation
from harness.judging.availability import words
from harness.model.rows import TrialVerdict
from harness.model.spec import Plan, TrialSpec
from harness.model.units import told_s
from harness.model.verdicts import SEVERITY, Verdict
from harness.outcomes.words import percent
from harness.planning import estimate
from harness.running.campaign import Campaign
from harness.text.escaping import safe_line

#: The number of longest-running trials to show.
SHOWN = 6
REDRAWS_A_S = 4
#: Without a terminal: the maximum time between progress lines.
TOLD_EVERY_S = 30.0


class LiveTable:
    """The progress of one run; a context manager. ``done`` are the verdicts that existed before it began."""

    def __init__(self, plan: Plan, done: Iterable[TrialVerdict], jobs: int, quiet: bool) -> None:
        self._costs_s = {spec.trial: estimate.trial_s(spec) for spec in plan.trials}
        self._counts = Counter(verdict.verdict for verdict in done)
        self._done_before = self._counts.total()
        self._left_s = sum(self._costs_s.values())
        for verdict in done:
            self._left_s -= self._costs_s.get(verdict.trial, 0.0)
        self._spent_s, self._jobs, self._quiet = 0.0, jobs, quiet
        self._began_s = self._told_s = time.monotonic()
        self._since_s: dict[str, tuple[TrialSpec, float]] = {}
        self._campaign: Campaign | None = None
        self._live: Live | None = None
        if console.is_terminal and not quiet:
            self._live = Live(
                get_renderable=self._drawn, console=console, transient=True, refresh_per_second=REDRAWS_A_S
            )

    def __enter__(self) -> LiveTable:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
        sys.stderr.flush()

    def watch(self, campaign: Campaign) -> None:
        """Show the running trials of this campaign."""
        self._campaign = campaign

    def began(self, spec: TrialSpec) -> None:
        """Register a trial that starts."""
        if spec.trial not in self._costs_s:  # an attempt that was added to the plan
            self._costs_s[spec.trial] = estimate.trial_s(spec)
            self._left_s += self._costs_s[spec.trial]
        self._since_s[spec.trial] = spec, time.monotonic()

    def ended(self, verdict: TrialVerdict) -> None:
        """Register the verdict of a trial."""
        self._counts[verdict.verdict] += 1
        self._since_s.pop(verdict.trial, None)
        cost_s = self._costs_s.get(verdict.trial, 0.0)
        self._spent_s, self._left_s = self._spent_s + cost_s, self._left_s - cost_s
        if not (self._live or self._quiet):
            self._tell(verdict)

    def _tell(self, verdict: TrialVerdict) -> None:
        done, total = self._counts.total(), len(self._costs_s)
        reason = "" if verdict.verdict == Verdict.PASS else f": {verdict.reason}"
        offered = verdict.availability
        _, word = words([verdict.scenario])
        share = f", {percent(offered.share)} {word}" if offered.share < 1 else ""
        say(
            f"[{done}/{total}] {verdict.verdict}: {situation(verdict)} {verdict.client} "
            f"seed {verdict.seed}{share}{reason}"
        )
        now = time.monotonic()
        if now - self._told_s >= TOLD_EVERY_S or done == total:
            self._told_s = now
            counts = ", ".join(f"{verdict} {count}" for verdict, count in self._ordered())
            say(
                f"[{done}/{total}] {counts}; {told_s(now - self._began_s)}, left about {told_s(self.left_s())}"
            )

    def left_s(self) -> float:
        """Return the approximate time left: the estimate, scaled by the pace so far."""
        elapsed_s = time.monotonic() - self._began_s
        # Until every lane has finished a trial, the pace is unknown.
        is_telling = self._counts.total() - self._done_before >= self._jobs
        pace = elapsed_s / self._spent_s if is_telling and self._spent_s else 1.0 / self._jobs
        return max(0.0, self._left_s * pace)

    def _ordered(self) -> list[tuple[Verdict, int]]:
        return [(verdict, self._counts[verdict]) for verdict in SEVERITY if self._counts[verdict]]

    def _drawn(self) -> RenderableType:
        now, done, total = time.monotonic(), self._counts.total(), len(self._costs_s)
        head = Table.grid(padding=(0, 2))
        counts = Text.from_markup(
            "  ".join(f"{shown(verdict)} {count}" for verdict, count in self._ordered())
        )
        times = f"{told_s(now - self._began_s)}, left about {told_s(self.left_s())}"
        head.add_row(
            ProgressBar(total=max(1, total), completed=done, width=24), f"{done}/{total}", times, counts
        )
        rows = Table.grid(padding=(0, 2))
        longest = sorted(self._since_s.values(), key=lambda each: each[1])[:SHOWN]
        for spec, since_s in longest:
            rows.add_row(
                f"{now - since_s:4.0f} s",
                cell(situation(spec)),
                cell(str(spec.client)),
                f"seed {spec.seed}",
                self._doing(spec.trial),
            )
        return Group(head, rows)

    def _doing(self, trial: str) -> Text:
        """Return the faults that are in effect in a trial, or else its phase."""
        under_way = self._campaign.under_way.get(trial) if self._campaign else None
        if under_way is None:
            return Text("starting", style="dim")
        if faults := under_way.active_faults:
            return Text(safe_line(", ".join(faults)), style="yellow")
        return Text(under_way.phase, style="dim")
