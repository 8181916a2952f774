"""The transactions workload as the harness knows it."""

from __future__ import annotations

from typing import Final

from harness.model.spec import TrialSpec
from harness.model.verdicts import Guarantee
from harness.plugins.workload import Param, WorkloadKind
from harness.text.counting import some
from harness.workloads.produce import settings
from harness.workloads.produce.kind import APIS, shown
from harness.workloads.produce.profile import drawn_codec
from harness.workloads.produce.setting_meanings import MEANINGS
from harness.workloads.transactions.accounting import MEANING, count
from harness.workloads.transactions.commands import ABORT_PERCENT, Transact, transact
from harness.workloads.transactions.profile import (
    TRANSACTION_TIMEOUT,
    essential,
    identity,
    stable_within_ms,
    transactional_config,
)


def _shown(spec: TrialSpec) -> dict[str, str]:
    """Return the load and its transactions, in words."""
    load = spec.workload
    aborts = load.params.get(ABORT_PERCENT, 0)
    return shown(spec) | {
        "transactions": f"{some(load.records_per_command, 'record')} in each, {aborts} % to be aborted"
    }


WORKLOAD: Final = WorkloadKind(
    name="transactions",
    summary="the client sends records in transactions and commits or aborts them; the log is read back",
    command=transact,
    commands=(Transact,),
    features={Guarantee.TRANSACTIONAL: "transactions"},
    config=transactional_config,
    drawn=drawn_codec,
    essential=essential,
    identity=identity,
    counts=count,
    meaning=MEANING,
    outcomes=("commits_lost", "undone", "torn", "visible_twice"),
    stable_within_ms=stable_within_ms,
    api="Produce",
    apis=APIS,
    role="producer",
    done="ended as asked",
    shown=_shown,
    params=(Param(ABORT_PERCENT, 20, 0, 100, "how many of a hundred transactions are aborted"),),
    refused=settings.refused,
    settings={**settings.SETTINGS, TRANSACTION_TIMEOUT: range(1, 2**31)},
    setting_meanings=MEANINGS,
    withheld={name: why for name, why in settings.WITHHELD.items() if name != TRANSACTION_TIMEOUT},
    needed=(*settings.NEEDED, TRANSACTION_TIMEOUT),
)
