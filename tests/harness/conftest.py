"""Builders of verdicts, specs, runs and campaign plans for tests that run no trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from harness.cli.campaign_plan import Expanded, expanded
from harness.model.path_names import made_of
from harness.model.rows import Availability, FaultVerdict, Finding, Param, RequirementVerdict, TrialVerdict
from harness.model.spec import ClientRef, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee, Verdict
from harness.planning import campaign_file
from harness.storage.run_store import RunRecord, RunStore


def judged_by(
    checks: Iterable[str], finding: Finding, anomalies: Iterable[str]
) -> tuple[RequirementVerdict, ...]:
    """Return the requirement of each check; those named in ``anomalies`` have failed with ``finding``."""
    return tuple(
        RequirementVerdict(
            f"R-{name}",
            "MUST",
            Verdict.FAIL.value if name in anomalies else Verdict.PASS.value,
            (replace(finding, anomaly=name),) if name in anomalies else (),
            (name,),
        )
        for name in sorted(set(checks))
    )


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
    params: dict[str, Param] | None = None,
    code: str = "",
    broker: str = "local:4.3.1x1",
    variant: str = "",
    sent: int = 0,
) -> TrialVerdict:
    """Return a trial in which each of ``checks`` judged ``R-<check>``, and those in ``anomalies`` found something.

    ``code`` and ``params`` are those of the findings, or of the reason if there are none.
    """
    if verdict is None:
        verdict = Verdict.FAIL.value if anomalies else Verdict.PASS.value
    if anomalies and not code:
        code = min(anomalies)
    more = f" (and {len(anomalies) - 1} more)" if len(anomalies) > 1 else ""
    told = reason or (f"{min(anomalies)}: {message}{more}" if anomalies else "all held")
    requirements = judged_by([*checks, *anomalies], Finding("", message, params=params or {}), anomalies)
    return TrialVerdict(
        trial=made_of(f"{scenario}-{guarantee}-{client}-{broker}-{variant}-s{seed}-a{attempt}"),
        client=client,
        broker=broker,
        scenario=scenario,
        guarantee=guarantee,
        seed=seed,
        verdict=verdict,
        reason=told,
        requirements=requirements if verdict in (Verdict.FAIL, Verdict.PASS) else (),
        faults=(
            *(FaultVerdict(kind, (0, 5), (0, 5), 2) for kind in hit),
            *(FaultVerdict(kind, (0, 5), (0, 5), 0) for kind in idle),
        ),
        availability=Availability(offered=sent),
        variant=variant,
        attempt=attempt,
        code=code,
        params=params or {},
    )


@pytest.fixture(scope="session")
def verdict() -> Callable[..., TrialVerdict]:
    """Return :func:`judged`, because test modules cannot import each other."""
    return judged


def planned(verdict: TrialVerdict, **values: object) -> TrialSpec:
    """Return the spec of the trial with this verdict."""
    name, _, version = verdict.client.rpartition("@")
    spec = TrialSpec(
        trial=verdict.trial,
        client=ClientRef(name, version),
        broker=verdict.broker,
        scenario=verdict.scenario,
        guarantee=Guarantee(verdict.guarantee),
        seed=verdict.seed,
        workload=Workload(),
        faults=(),
        config={"acks": "all"},
        variant=verdict.variant,
        attempt=verdict.attempt,
    )
    return replace(spec, **values)


@pytest.fixture(scope="session")
def spec() -> Callable[..., TrialSpec]:
    """Return :func:`planned`."""
    return planned


@pytest.fixture
def run_of(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a run with these verdicts and ``lacking`` unfinished trials."""

    def written(name: str, *verdicts: TrialVerdict, lacking: int = 0, **values: object) -> Path:
        specs = [planned(verdict, **values) for verdict in verdicts]
        more = [replace(specs[0], trial=f"lacking-{number}") for number in range(lacking)]
        record = RunRecord(name, "2026-03-01T10:20:30Z", Plan(7, (*specs, *more)), 1, {}, ["kafka-trial"])
        store = RunStore.create(tmp_path / name, record)
        for verdict in verdicts:
            store.write_verdict(verdict)
        return store.folder

    return written


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Expanded]:
    """Return a function that expands the text of a campaign file to its plan and its messages."""

    def make(text: str, **more: Any) -> Expanded:
        path = tmp_path / "campaign.toml"
        path.write_text(text)
        file = campaign_file.load(path)
        return expanded(file, campaign_file.seeds(file), **more)

    return make
