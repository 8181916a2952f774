"""Verdicts to group, to compare and to know of, without a trial behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from harness.outcome import Verdict
from harness.rows import Delivery, FaultVerdict, Finding, RequirementVerdict, TrialVerdict

Judged = tuple[str, str, Sequence[str]]


def judged(
    *anomalies: str,
    client: str = "c@1",
    scenario: str = "produce/calm",
    guarantee: str = "idempotent",
    seed: int = 1,
    attempt: int = 1,
    verdict: str | None = None,
    reason: str = "",
    hit: Iterable[str] = (),
    idle: Iterable[str] = (),
    checks: Iterable[str] = ("lost", "duplicate"),
    message: str = "3 records",
    broker: str = "local:4.3.1x1",
    variant: str = "",
    sent: int = 10,
) -> TrialVerdict:
    """A trial in which each of ``checks`` judged a requirement ``R-<check>``, and found the ``anomalies`` of its name."""
    names = dict.fromkeys([*checks, *anomalies])
    requirements = tuple(
        RequirementVerdict(
            f"R-{name}",
            "MUST",
            Verdict.FAIL.value if name in anomalies else Verdict.PASS.value,
            (Finding(name, message),) if name in anomalies else (),
            (name,),
        )
        for name in sorted(names)
    )
    if verdict is None:
        verdict = Verdict.FAIL.value if anomalies else Verdict.PASS.value
    told = reason or (f"{min(anomalies)}: {message}" if anomalies else "all held")
    if verdict not in (Verdict.FAIL, Verdict.PASS):
        requirements = ()
    return TrialVerdict(
        trial="-".join(
            (scenario.replace("/", "-"), guarantee, client, broker, variant, f"s{seed}", f"a{attempt}")
        ),
        client=client,
        broker=broker,
        scenario=scenario,
        guarantee=guarantee,
        seed=seed,
        verdict=verdict,
        reason=told,
        requirements=requirements,
        faults=(
            *(FaultVerdict(kind, (0, 5), (0, 5), 2) for kind in hit),
            *(FaultVerdict(kind, (0, 5), (0, 5), 0) for kind in idle),
        ),
        delivery=Delivery(sent=sent),
        variant=variant,
        attempt=attempt,
    )


@pytest.fixture(scope="session")
def verdict() -> Callable[..., TrialVerdict]:
    """:func:`judged`; test modules cannot import each other."""
    return judged
