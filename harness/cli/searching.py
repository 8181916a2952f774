"""A search carried out for the command line: trials that depend on how others came out, in one run.

``shrink`` and ``bisect`` end here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from harness.budget import Budget
from harness.campaign import Campaign
from harness.cli.carrying import _until_signal as until_signal
from harness.cli.live_table import LiveTable
from harness.cli.options import Options
from harness.cli.screen import say
from harness.errors import EnvironmentProblem
from harness.ports import InstalledClient
from harness.spec import ClientRef
from harness.store import RunStore
from harness.tries import GrowingRun, simulate

Search = Callable[[GrowingRun], Coroutine[Any, Any, None]]


def search_live(
    store: RunStore, clients: Mapping[ClientRef, InstalledClient], options: Options, search: Search
) -> int | None:
    """Carry out the search with real brokers; the signal that ended it, if one did. ``clients`` may grow meanwhile."""
    budget = Budget(options.max_time_s)
    with LiveTable(store.record.plan, (), options.jobs, options.quiet) as table:
        campaign = Campaign(store, clients, options.jobs, table.began, table.ended, say, budget)
        table.watch(campaign)
        return _search(GrowingRun(store, campaign.run), budget, search)


def search_simulated(store: RunStore, options: Options, search: Search) -> int | None:
    """The same in virtual time."""
    budget = Budget(options.max_time_s)
    return _search(GrowingRun(store, lambda: simulate(store, budget)), budget, search)


def _search(run: GrowingRun, budget: Budget, search: Search) -> int | None:
    with run.store.claimed():
        try:
            stopped_by = asyncio.run(until_signal(search(run)))
        except Exception as error:
            with suppress(EnvironmentProblem):  # a disk that is full is told by the error itself
                run.store.stop(f"failed: {error}")
            raise
        run.store.stop((budget.used_up() or "completed") if stopped_by is None else "interrupted")
    return stopped_by
