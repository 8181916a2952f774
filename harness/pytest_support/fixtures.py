"""What a test has in its hands: trials by name of their scenario, and what came of one, in pytest's words.

A disagreement is a failure; a trial that proves nothing (a fault that did not bite, a disturbed machine, an error of
ours) is no failure of the client, and no pass either: it is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.judging.failure_report import failure_text, replay_line, sentence
from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, FaultSpec, Plan, TrialSpec, Workload
from harness.model.verdicts import Verdict
from harness.planning import selection, validate_plan
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.running.cluster_session import ClusterSession
from harness.text.escaping import log_line

#: What says nothing about the client.
PROVES_NOTHING = frozenset({Verdict.HARNESS_ERROR, Verdict.INCONCLUSIVE, Verdict.NOT_EXERCISED})


#: What breaks no promise.
ALLOWED = frozenset({Verdict.PASS, Verdict.DIFFERS})


class TrialInconclusive(Exception):
    """The trial proves nothing: neither a pass nor a failure."""


class TrialFailed(pytest.fail.Exception):  # type: ignore[misc, name-defined]  # made by a decorator
    """The client broke a promise: a failure of the test, with its whole report, and the same as one ``sentence``."""

    def __init__(self, report: str, sentence: str) -> None:
        super().__init__(report, pytrace=False)
        self.sentence = sentence


@dataclass(frozen=True)
class TrialResult:
    """One trial that was carried out: its verdict, and the folder of its evidence."""

    verdict: TrialVerdict
    folder: Path
    session: ClusterSession
    strict: bool = False

    @property
    def passed(self) -> bool:
        """True if no promise was broken; where it is ``strict``, for a pass and nothing else."""
        return self.verdict.verdict in ALLOWED - ({Verdict.DIFFERS} if self.strict else set())

    @property
    def findings(self) -> list[str]:
        """What is held against the client: anomaly and sentence."""
        return [f"{f.anomaly}: {f.message}" for r in self.verdict.requirements for f in r.findings]

    def must_pass(self) -> None:
        """Fail the test if the client broke a promise, with all that is needed to see why; skip what it does not claim.

        Where it is ``strict``, a client that differs fails it too.
        Raises TrialInconclusive for a trial that proves nothing.
        """
        self.require_verdict()
        said = Verdict(self.verdict.verdict)
        if said is Verdict.UNSUPPORTED:
            pytest.skip(log_line(f"unsupported: {self.verdict.reason}"))
        if said is Verdict.EXPECTED_FAIL:
            pytest.xfail(log_line(self.verdict.reason))
        if not self.passed:
            raise TrialFailed(self.report(), sentence(self.verdict))

    def require_verdict(self) -> None:
        """Raise TrialInconclusive if the trial says nothing about the client."""
        if self.verdict.verdict in PROVES_NOTHING:
            told = log_line(f"{self.verdict.verdict}: {self.verdict.reason}")
            raise TrialInconclusive(f"{told} ({replay_line(self.folder)})")

    def report(self) -> str:
        """What was expected and observed, the faults, the frames round it, and the command that repeats it."""
        evidence = self.session.store.read_evidence(self.verdict.trial)
        return failure_text(self.verdict, evidence, self.folder)


@dataclass(frozen=True)
class Trials:
    """Trials of one client; calling it carries one out."""

    session: ClusterSession
    client: ClientRef
    seed: int
    strict: bool = False

    def __call__(
        self,
        scenario: str,
        *,
        guarantee: str | None = None,
        seed: int | None = None,
        faults: Sequence[FaultSpec] | None = None,
        config: Mapping[str, str | int | bool] | None = None,
        workload: Workload | None = None,
    ) -> TrialResult:
        """Carry out a scenario and judge it; ``faults`` and ``workload`` stand for its own, ``config`` goes over it.

        Without a guarantee: the strongest that the scenario is tried under. UsageError for what cannot be.
        """
        spec = spec_of(
            scenario, guarantee, self.client, self.session.broker, self.seed if seed is None else seed
        )
        if faults is not None:
            spec = replace(spec, faults=tuple(faults))
        if workload is not None:
            spec = replace(spec, workload=workload)
        spec = replace(spec, config=spec.config | dict(config or {}))
        return self.tried(self.session.named_anew(spec))

    def tried(self, spec: TrialSpec) -> TrialResult:
        """Carry out one spec, or wait for it where it was submitted before."""
        validate_plan.check(Plan(spec.seed, (spec,)), Mode.LIVE)
        return TrialResult(
            self.session.submit(spec).result(), self.session.folder(spec), self.session, self.strict
        )


def spec_of(scenario: str, guarantee: str | None, client: ClientRef, broker: str, seed: int) -> TrialSpec:
    """The trial of a scenario by name. UsageError, with a did-you-mean, for what does not exist."""
    known = registry.scenario(scenario)
    if guarantee is None:
        guarantee = known.guarantees[-1]
    if guarantee not in known.guarantees:
        raise UsageError(
            "guarantee-not-of-scenario",
            "{scenario} is tried under {guarantees}, not under {guarantee}",
            scenario=scenario,
            guarantees=tuple(known.guarantees),
            guarantee=guarantee,
        )
    [chosen] = selection.scenarios([scenario], [guarantee])
    [spec] = make_plan([chosen], [client], [broker], [seed]).trials
    return spec
