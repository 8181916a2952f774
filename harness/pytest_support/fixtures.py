"""The objects that a test uses: trials by the name of their scenario, and their results as pytest outcomes.

A violated requirement fails the test. A trial that proves nothing (a fault without effect, a disturbed machine, a
harness error) neither fails nor passes: it is an error.
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
from harness.model.spec import ClientRef, FaultSpec, Origin, Plan, TrialSpec, Workload
from harness.model.verdicts import Verdict
from harness.outcomes.metrics import metrics
from harness.outcomes.thresholds import Met, evaluated
from harness.planning import selection, validate_plan
from harness.planning.own_load import OwnLoad
from harness.planning.plan import SettingsConflict, make_plan
from harness.planning.user_settings import NONE, UserSettings
from harness.plugins import registry
from harness.running.cluster_session import ClusterSession
from harness.text.escaping import log_line

#: Verdicts that say nothing about the client.
PROVES_NOTHING = frozenset({Verdict.HARNESS_ERROR, Verdict.INCONCLUSIVE, Verdict.NOT_EXERCISED})


#: Verdicts that break no promise.
ALLOWED = frozenset({Verdict.PASS, Verdict.DIFFERS})


class TrialInconclusive(Exception):
    """The trial proves nothing: it is neither a pass nor a failure."""


class TrialFailed(pytest.fail.Exception):  # type: ignore[misc, name-defined]  # made by a decorator
    """The client broke a promise. The test fails with the whole report; ``sentence`` is its short form."""

    def __init__(self, report: str, sentence: str) -> None:
        super().__init__(report, pytrace=False)
        self.sentence = sentence


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial: its verdict, and the folder of its evidence."""

    verdict: TrialVerdict
    folder: Path
    session: ClusterSession
    strict: bool = False
    thresholds: tuple[str, ...] = ()

    @property
    def outcomes(self) -> dict[str, float]:
        """Each metric of the trial by name: shares from 0 to 1, times in milliseconds."""
        found = {name: metric.value(self.verdict) for name, metric in metrics().items()}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def passed(self) -> bool:
        """True if no promise was broken. If ``strict``, only a pass counts."""
        return self.verdict.verdict in ALLOWED - ({Verdict.DIFFERS} if self.strict else set())

    @property
    def findings(self) -> list[str]:
        """The findings against the client, each with its anomaly and sentence."""
        return [f"{f.anomaly}: {f.message}" for r in self.verdict.requirements for f in r.findings]

    def must_pass(self) -> None:
        """Fail the test, with a full report, if the client broke a promise.

        Skip it if the client does not offer the guarantee.

        If ``strict``, a client that differs fails it too. Raise TrialInconclusive for a trial that proves nothing. The
        thresholds of the options must be met as well.
        """
        self.require_verdict()
        said = Verdict(self.verdict.verdict)
        if said is Verdict.UNSUPPORTED:
            pytest.skip(log_line(f"unsupported: {self.verdict.reason}"))
        if said is Verdict.EXPECTED_FAIL:
            pytest.xfail(log_line(self.verdict.reason))
        if not self.passed:
            raise TrialFailed(self.report(), sentence(self.verdict))
        self.must_meet(*self.thresholds)

    def must_meet(self, *thresholds: str) -> None:
        """Fail the test if an outcome misses one of these thresholds, such as ``given_up < 0.1%``.

        Raise TrialInconclusive if the trial has no such outcome, and UsageError for an invalid threshold.
        """
        found = evaluated(thresholds, [self.verdict])
        if missed := [log_line(each.sentence) for each in found if each.result is Met.MISSED]:
            told = log_line(replay_line(self.folder, self.verdict))
            raise TrialFailed("\n".join([*missed, told]), missed[0])
        if unknown := [each for each in found if each.result is Met.NOT_EVALUATED]:
            raise TrialInconclusive(
                f"{log_line(unknown[0].sentence)} ({replay_line(self.folder, self.verdict)})"
            )

    def require_verdict(self) -> None:
        """Raise TrialInconclusive if the trial says nothing about the client."""
        if self.verdict.verdict in PROVES_NOTHING:
            told = log_line(f"{self.verdict.verdict}: {self.verdict.reason}")
            raise TrialInconclusive(f"{told} ({replay_line(self.folder, self.verdict)})")

    def report(self) -> str:
        """Return the report: expected, observed, faults, frames around the failure, the command that repeats it."""
        evidence = self.session.store.read_evidence(self.verdict.trial)
        return failure_text(self.verdict, evidence, self.folder)


@dataclass(frozen=True)
class Trials:
    """Trials of one client. Call it to run one."""

    session: ClusterSession
    client: ClientRef
    seed: int
    strict: bool = False
    thresholds: tuple[str, ...] = ()
    settings: UserSettings = NONE
    load: OwnLoad | None = None

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
        """Run a scenario and judge it.

        ``faults`` and ``workload`` replace the scenario's, and ``config`` overrides settings. The test is skipped if
        the settings that the user chose are impossible for it.

        Without a guarantee, the strongest one of the scenario is used. Raise UsageError for an impossible combination.
        """
        number = self.seed if seed is None else seed
        try:
            spec = spec_of(
                scenario, guarantee, self.client, self.session.broker, number, self.settings, self.load
            )
        except SettingsConflict as conflict:
            pytest.skip(log_line(str(conflict)))
        if faults is not None:
            spec = replace(spec, faults=tuple(faults))
        if workload is not None:
            spec = replace(spec, workload=workload)
        chosen = dict(config or {})
        origins = spec.origins | dict.fromkeys(chosen, Origin.USER.value)
        spec = replace(spec, config=spec.config | chosen, origins=origins)
        return self.tried(self.session.named_anew(spec))

    def tried(self, spec: TrialSpec) -> TrialResult:
        """Run one spec, or wait for its result if it was submitted before."""
        validate_plan.check(Plan(spec.seed, (spec,)), Mode.LIVE)
        verdict = self.session.submit(spec).result()
        return TrialResult(verdict, self.session.folder(spec), self.session, self.strict, self.thresholds)


def spec_of(
    scenario: str,
    guarantee: str | None,
    client: ClientRef,
    broker: str,
    seed: int,
    settings: UserSettings = NONE,
    load: OwnLoad | None = None,
) -> TrialSpec:
    """Return the trial of a scenario by name, with the user's own load if there is one.

    Raise UsageError, with a suggestion, for an unknown name, and SettingsConflict if the settings are impossible.
    """
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
    [chosen] = selection.loaded(selection.scenarios([scenario], [guarantee]), load)
    [spec] = make_plan([chosen], [client], [broker], [seed], settings).trials
    return spec
