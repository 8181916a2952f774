"""One trial of a run, from its spec to its verdict: collect on a lane, store, judge, store the verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from harness import baseline
from harness.capture.observer import observed
from harness.judging.judge import judge
from harness.limits.meter import OverLimit
from harness.model.errors import EnvironmentProblem
from harness.model.evidence import Evidence
from harness.model.rows import CaptureRecord, Ending, Phases, TrialRecord, TrialVerdict
from harness.model.spec import ClientRef, TrialSpec
from harness.planning import setting_warnings, validate_plan
from harness.plugins import registry
from harness.plugins.client import InstalledClient
from harness.plugins.cluster import Cluster
from harness.running import defects
from harness.running.lane import Lane
from harness.running.live_trial import LiveTrial
from harness.storage import unreadable
from harness.storage.run_store import RunRecord, RunStore
from harness.text.counting import some


@dataclass(frozen=True)
class Execution:
    """Trials of one run. ``under_way`` has those in progress, by name; ``say`` reports problems, once each."""

    store: RunStore
    clients: Mapping[ClientRef, InstalledClient]
    say: Callable[[str], None] = lambda _: None
    under_way: dict[str, LiveTrial] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)

    @cached_property
    def _record(self) -> RunRecord:
        return self.store.record

    async def run(self, index: int, spec: TrialSpec, cluster: Cluster, lane: Lane) -> TrialVerdict:
        """Run the trial at ``index`` in the run's plan. Its verdict is stored when this returns."""
        trial = self.under_way[spec.trial] = LiveTrial(
            spec=spec,
            run_id=self._record.run_id,
            topic=f"{self._record.run_id}-{index}",
            cluster=cluster,
            lane=lane,
            clients=self.clients,
            folder=self.store.trial_folder(spec.trial),
            tell_not_set=lambda not_set: self._warn(spec, not_set),
        )
        try:
            self.store.begin(spec.trial)
            evidence = await self._collect(trial, lane, spec)
            return await asyncio.to_thread(self.conclude, evidence)
        finally:
            del self.under_way[spec.trial]

    def left_out(
        self,
        index: int,
        spec: TrialSpec,
        why: str,
        ending: Ending = Ending.UNSUPPORTED,
        code: str = "",
    ) -> TrialVerdict:
        """Store why the trial at ``index`` of the plan was not run, without running anything."""
        record = TrialRecord(
            spec=spec,
            run_id=self._record.run_id,
            topic=f"{self._record.run_id}-{index}",
            lane=0,
            phases=Phases(),
            ending=ending,
            code=code,
            reason=why,
        )
        return self.conclude(Evidence(record, (), (), (), ()))

    async def _collect(self, trial: LiveTrial, lane: Lane, spec: TrialSpec) -> Evidence:
        if not self._record.capture:
            return await trial.run()
        addresses = [proxy.address for proxy in lane.proxies]
        async with observed(self.store.trial_folder(spec.trial), addresses) as observer:
            evidence = await trial.run()
        self._doubt(spec, observer.record)
        record = msgspec.structs.replace(evidence.record, capture=observer.record)
        return replace(evidence, record=record, tcp=observer.told())

    def _doubt(self, spec: TrialSpec, capture: CaptureRecord) -> None:
        if capture.unavailable_reason is not None:
            doubt = f"no capture: {capture.unavailable_reason}"
        elif not capture.is_whole:
            lost = (
                f"{some(capture.dropped, 'packet')} dropped, {capture.cut} cut, "
                f"{some(capture.unread, 'connection')} unread"
            )
            doubt = f"the capture of {spec.trial} is incomplete, so nothing is compared with it: {lost}"
        else:
            return
        self._say_once(doubt)

    def _warn(self, spec: TrialSpec, not_set: Mapping[str, str]) -> None:
        for name, why in not_set.items():
            self._say_once(setting_warnings.sentence(spec.client, name, why))

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self.say(sentence)

    def conclude(self, evidence: Evidence) -> TrialVerdict:
        """Judge and store.

        Raise EnvironmentProblem if writing fails. Any other error is a defect in this trial alone.
        """
        try:
            self.store.write_evidence(evidence)
            verdict = judged(evidence, self._record)
        except EnvironmentProblem:
            raise
        except OverLimit as error:
            record = evidence.record
            if record.ending is not Ending.HARNESS_ERROR:  # the first trouble is the one to report
                record = _ended_by(record, error.code, str(error))
            verdict = self._without_evidence(record)
        except Exception as error:
            reason = defects.told(error, self.store.trial_folder(evidence.record.spec.trial))
            verdict = self._without_evidence(_ended_by(evidence.record, defects.CODE, reason))
        self.store.write_verdict(verdict)
        return verdict

    def _without_evidence(self, record: TrialRecord) -> TrialVerdict:
        without = Evidence(record, (), (), (), ())
        self.store.write_evidence(without)
        return judged(without, self._record)


def _ended_by(record: TrialRecord, code: str, reason: str) -> TrialRecord:
    return msgspec.structs.replace(record, ending=Ending.HARNESS_ERROR, code=code, reason=reason)


def judged(evidence: Evidence, record: RunRecord) -> TrialVerdict:
    """Return the verdict of a trial in its run, with the known failures from the beginning of the run."""
    validate_plan.check_numbers(evidence.record.spec)
    scenario = registry.scenario(evidence.record.spec.scenario)
    return baseline.apply(judge(evidence, scenario, registry.checks(), record.level), record.baseline)


def rejudge(store: RunStore) -> list[TrialVerdict]:
    """Judge the stored evidence of every finished trial again, and replace its verdict.

    A trial whose evidence cannot be read or judged is a harness-error.
    """
    verdicts, record = [], store.record
    for spec in record.plan.trials:
        if store.finished(spec.trial):
            try:
                verdict = judged(store.read_evidence(spec.trial), record)
            except Exception as error:
                verdict = unreadable.verdict(spec, unreadable.why(error))
            store.write_verdict(verdict)
            verdicts.append(verdict)
    return verdicts
