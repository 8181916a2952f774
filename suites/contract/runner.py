"""Running the cases of the contract against one launch, each in a separate process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.adapter import GRACE_S, ConfigRefused
from harness.adapter.member import CommandNotOffered, MemberConversation
from harness.model.contract import AnyEvent
from harness.model.errors import ClientBroken, ClientCrashed
from harness.plugins import registry
from harness.plugins.client import Launch
from harness.plugins.workload import WorkloadKind
from harness.system.processes import scratch_dir
from suites.contract.cases import CASES
from suites.contract.client_process import ClientProcess, ContractViolation, NotConcerned, refusing_port

AT_ONCE = 5


@dataclass(frozen=True)
class CaseResult:
    """The result of one case. ``detail`` is the client's violation, or what the case requires if there is none."""

    case: str
    passed: bool
    detail: str


async def check_contract(
    launch: Launch,
    cases: Iterable[str] = tuple(CASES),
    *,
    workload: str = "produce",
    patience_s: float = GRACE_S,
    folder: Path | None = None,
) -> list[CaseResult]:
    """Run ``cases``, a few at a time, since they mostly wait. The results are in the order of the cases.

    There is no result of a case for consumers if the client does not consume, nor of one that loads a producer if the
    workload has none.

    ``workload`` is what the client is asked to do, ``patience_s`` how late an answer may be, and ``folder`` keeps the
    clients' logs. Raise EnvironmentProblem if the launch cannot be started at all, and UsageError for an unknown
    workload.
    """
    kind = registry.workload(workload)
    logs = folder or scratch_dir()
    turn = asyncio.Semaphore(AT_ONCE)

    async def in_turn(case: str) -> CaseResult | None:
        async with turn:
            return await _check(case, launch, kind, patience_s, logs / f"{case}.log")

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(in_turn(case)) for case in cases]
    return [result for task in running if (result := task.result()) is not None]


async def _check(
    case: str, launch: Launch, workload: WorkloadKind, patience_s: float, log: Path
) -> CaseResult | None:
    heard: list[AnyEvent] = []
    try:
        with refusing_port() as port:
            async with MemberConversation(launch, log, heard.append, grace_s=patience_s) as conversation:
                await CASES[case](
                    ClientProcess(conversation, heard, patience_s, f"127.0.0.1:{port}", workload)
                )
    except NotConcerned:
        return None
    except (ClientBroken, ClientCrashed, CommandNotOffered, ConfigRefused, ContractViolation) as offence:
        return CaseResult(case, False, str(offence))
    return CaseResult(case, True, (CASES[case].__doc__ or "").splitlines()[0])
