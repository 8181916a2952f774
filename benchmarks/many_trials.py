"""A large run for benchmarks: copies of a few trials under other names, clients and seeds."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from msgspec.structs import replace

from harness.files.row_files import write_json
from harness.model.evidence import Evidence
from harness.model.rows import TrialRecord, TrialVerdict
from harness.model.run_files import TRIAL
from harness.model.spec import ClientRef, Plan, TrialSpec
from harness.planning import typed_settings
from harness.simulated.judged import simulate
from harness.storage.run_store import RunRecord, RunStore

SCENARIOS = (
    "produce/calm", "produce/dropped-response", "produce/disconnect", "produce/latency",
    "network/reset", "frame/lost-answer", "frame/late-answer", "frame/torn-answer",
)  # fmt: skip
SEEDS = range(1, 6)
CLIENTS = tuple(f"client-{letter}" for letter in "abcdefghijkl")


@dataclass
class Copies:
    """Writes runs of any size into ``folder`` from the trials of ``source``, or from simulated ones."""

    folder: Path
    source: Path | None = None
    _originals: list[tuple[TrialRecord, TrialVerdict, Path]] = field(default_factory=list)
    _store: RunStore | None = None
    _specs: list[TrialSpec] = field(default_factory=list)
    _written: int = 0

    def write(self, trials: int, planned: int) -> Path:
        """Write a run with this number of finished trials, of more that are planned. Return its folder."""
        store = RunStore.open(self.source) if self.source else self._simulated()
        for spec in store.record.plan.trials:
            if store.finished(spec.trial):
                record = store.trial_record(spec.trial)
                self._originals.append((record, store.verdict(spec.trial), store.trial_folder(spec.trial)))
        self._specs = [self._spec(number) for number in range(planned)]
        run = RunRecord(
            "many",
            "2026-03-01T10:20:30Z",
            Plan(1, tuple(self._specs)),
            1,
            {},
            ["kafka-trial", "run"],
            "completed",
        )
        self._store = RunStore.create(self.folder / "runs", run)
        self.write_more(trials)
        return self._store.folder

    def write_more(self, trials: int) -> None:
        """Finish the next trials of the plan."""
        assert self._store is not None
        for number in range(self._written, self._written + trials):
            record, verdict, folder = self._originals[number % len(self._originals)]
            spec = self._specs[number]
            target = self._store.make_folder(self._store.trial_folder(spec.trial))
            for path in folder.iterdir():
                if path.is_file():
                    shutil.copyfile(path, target / path.name)
            write_json(
                target / TRIAL, replace(record, spec=typed_settings.stored_spec(spec)), self._store.folder
            )
            same = {"trial": spec.trial, "client": str(spec.client), "seed": spec.seed}
            self._store.write_verdict(replace(verdict, **same))
        self._written += trials

    def _spec(self, number: int) -> TrialSpec:
        """Return the plan of one trial: the originals in turn, each under the next client and seed."""
        turn, place = divmod(number, len(self._originals))
        spec = self._originals[place][0].spec
        client = spec.client if self.source else ClientRef(CLIENTS[turn % len(CLIENTS)], "1.0.0")
        seed = spec.seed + (turn if self.source else turn // len(CLIENTS))
        return replace(spec, trial=f"{place:03}-{client.name}-s{seed}-{turn}", client=client, seed=seed)

    def _simulated(self) -> RunStore:
        made: list[tuple[Evidence, TrialVerdict]] = [
            simulate(scenario, "reference", seed, "scripted:4.3.1x1")
            for scenario, seed in product(SCENARIOS, SEEDS)
        ]
        specs = [
            replace(evidence.record.spec, trial=f"original-{number}")
            for number, (evidence, _) in enumerate(made)
        ]
        run = RunRecord("originals", "2026-03-01T10:20:30Z", Plan(1, tuple(specs)), 1, {}, [], "completed")
        store = RunStore.create(self.folder / "originals", run)
        for spec, (evidence, verdict) in zip(specs, made, strict=True):
            store.write_evidence(replace_spec(evidence, spec))
            store.write_verdict(replace(verdict, trial=spec.trial))
        return store


def replace_spec(evidence: Evidence, spec: TrialSpec) -> Evidence:
    """Return the same evidence of another plan."""
    return Evidence(
        record=replace(evidence.record, spec=spec),
        history=evidence.history,
        frames=evidence.frames,
        faults=evidence.faults,
        log=evidence.log,
        trace=evidence.trace,
        blocked_frames=evidence.blocked_frames,
        tcp=evidence.tcp,
    )
