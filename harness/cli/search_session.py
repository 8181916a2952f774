"""A run whose trials depend on the results of others, for the commands ``shrink`` and ``bisect``."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from harness.cli.console import say
from harness.cli.interrupts import until_signal
from harness.cli.live_table import LiveTable
from harness.cli.options import Options
from harness.model.errors import EnvironmentProblem
from harness.model.spec import ClientRef
from harness.plugins.client import InstalledClient
from harness.running.budget import Budget
from harness.running.campaign import Campaign
from harness.search.trial_batches import GrowingRun, simulate
from harness.storage.run_store import RunStore


@contextmanager
def live_run(
    store: RunStore, clients: Mapping[ClientRef, InstalledClient], options: Options
) -> Iterator[GrowingRun]:
    """Yield a run with real brokers, and show its progress. ``clients`` may grow meanwhile."""
    budget = Budget(options.max_time_s)
    with LiveTable(store.record.plan, (), options.jobs, options.quiet) as table:
        campaign = Campaign(store, clients, options.jobs, table.began, table.ended, say, budget)
        table.watch(campaign)
        yield GrowingRun(store, campaign.run, budget)


@contextmanager
def simulated_run(store: RunStore, options: Options) -> Iterator[GrowingRun]:
    """Yield a run in virtual time."""
    budget = Budget(options.max_time_s)
    yield GrowingRun(store, lambda: simulate(store, budget), budget)


def carry_out(run: GrowingRun, search: Coroutine[Any, Any, None]) -> int | None:
    """Run the search, store why it ended, and return the number of the signal that ended it, if any."""
    with run.store.claimed():
        try:
            stopped_by = asyncio.run(until_signal(search))
        except Exception as error:
            with suppress(EnvironmentProblem):  # if the disk is full, the error itself says so
                run.store.stop(f"failed: {error}")
            raise
        run.store.stop((run.budget.used_up() or "completed") if stopped_by is None else "interrupted")
    return stopped_by
