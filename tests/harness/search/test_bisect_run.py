"""Bisection runs: versions that cannot be installed, unexpected ends, and intermittent failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

import pytest
from msgspec.structs import replace

from harness.cli.main import call
from harness.cli.options import Options
from harness.cli.run_plan import new_record
from harness.model.errors import EnvironmentProblem
from harness.model.rows import Finding, RequirementVerdict, TrialVerdict
from harness.model.spec import ClientRef, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins.client import InstalledClient, Launch
from harness.search.bisect_run import Bisection
from harness.search.bisect_search import VersionState
from harness.search.criteria import ByFailure
from harness.search.trial_batches import GrowingRun
from harness.storage.run_store import RunStore
from testkit.codes import has_error

VERSIONS = [f"1.{number}" for number in range(16)]
Fails = Callable[[int, int], bool]


def trials_of(version: str, seeds: int) -> list[TrialSpec]:
    spec = TrialSpec("", ClientRef("c", version), "b", "s", Guarantee.IDEMPOTENT, 1, Workload(), (), {})
    return [replace(spec, trial=f"{version}-{seed}", seed=seed) for seed in range(seeds)]


class World:
    """Versions that fail or not, depending on their number and the seed."""

    def __init__(self, tmp_path, fails: Fails, stop_at: int | None = None) -> None:
        self.store = RunStore.create(tmp_path, new_record(Plan(1, ()), Options(1)))
        self.run = GrowingRun(self.store, self._carry_out)
        self._fails, self._left = fails, stop_at

    async def _carry_out(self) -> None:
        for spec in self.store.record.plan.trials:
            if not self.store.finished(spec.trial):
                if self._left == 0:
                    return
                self._left = None if self._left is None else self._left - 1
                self.store.write_verdict(self._verdict(spec))

    def _verdict(self, spec: TrialSpec) -> TrialVerdict:
        fails = self._fails(VERSIONS.index(spec.client.version), spec.seed)
        found = (Finding("lost", "it happened"),) if fails else ()
        of = Verdict.FAIL if fails else Verdict.PASS
        required = (RequirementVerdict("X-01", "MUST", of, found),)
        return TrialVerdict(spec.trial, "c", "b", "s", "idempotent", spec.seed, of, "", required)


def bisected(
    world: World, *, seeds: int = 1, versions: Sequence[str] = VERSIONS, lacking: Collection[str] = ()
) -> Bisection:
    """Bisect, while the versions in ``lacking`` cannot be installed."""

    def installed(ref: ClientRef) -> InstalledClient:
        if ref.version in lacking:
            raise EnvironmentProblem("made-up", "{ref} does not compile", ref=ref)
        return InstalledClient(ref, Launch((), {}))

    failure = ByFailure()
    found = Bisection("c", versions, trials_of, seeds, failure, False, {}, install=installed)
    asyncio.run(found.run(world.run))
    return found


def test_the_first_bad_version_is_found(tmp_path) -> None:
    found = bisected(World(tmp_path, lambda number, _: number >= 11), seeds=2)
    assert found.bracket == ("1.10", "1.11") and not found.untold
    assert len(found.verdicts) == 6 and all(len(each) == 2 for each in found.verdicts.values())
    assert found.failing.trial == "1.11-0"


def test_a_version_that_cannot_be_installed_is_skipped_with_its_reason(tmp_path) -> None:
    lacking = {"1.7", "1.8", "1.11"}
    found = bisected(World(tmp_path, lambda number, _: number >= 11), lacking=lacking)
    assert found.bracket == ("1.10", "1.12") and found.untold == ["1.11"]
    assert found.seen["1.11"] is VersionState.SKIPPED and "1.11" not in found.verdicts
    assert found.lacks["1.11"] == "c@1.11 does not compile"


@pytest.mark.parametrize(
    "fails", [lambda number, _: True, lambda number, _: False, lambda number, _: number < 8]
)
def test_unexpected_results_of_the_ends_stop_the_search(tmp_path, fails: Fails) -> None:
    found = bisected(World(tmp_path, fails))
    assert not found.is_as_said and set(found.seen) == {"1.0", "1.15"}


def test_an_intermittent_failure_is_tried_with_more_seeds(tmp_path) -> None:
    """With two seeds, every third bad version would appear good."""
    found = bisected(World(tmp_path, lambda number, seed: number >= 11 and (number + seed) % 3 == 0), seeds=3)
    assert found.seeds == 8
    assert found.bracket == ("1.10", "1.11")
    assert len(found.verdicts["1.0"]) == len(found.verdicts["1.10"]) == 8


@pytest.mark.parametrize("stop_at", [0, 1, 2, 3, 4])
def test_a_used_up_budget_leaves_the_narrowest_bracket_so_far(tmp_path, stop_at: int) -> None:
    found = bisected(World(tmp_path, lambda number, _: number >= 11, stop_at))
    assert found.ran_out and found.is_as_said == (stop_at >= 2)
    if found.is_as_said:
        good, bad = found.bracket
        assert VERSIONS.index(good) < 11 <= VERSIONS.index(bad) and found.untold


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (
            ["refrence", "0.1.0", "0.1.1", "produce/calm"],
            ("unknown-name", "'refrence'", "'reference'"),
        ),
        (
            ["reference", "0.1.0", "0.1.1", "produce/calm"],
            ("unknown-name", "'0.1.1'", "'0.1.0'"),
        ),
        (
            ["reference", "0.1.0", "0.1.0", "produce/calm"],
            ("good-is-bad", "0.1.0"),
        ),
    ],
)
def test_invalid_arguments_are_usage_errors(tmp_path, capsys, argv: list[str], sentence: str) -> None:
    assert call(["bisect", *argv, "--out-dir", str(tmp_path)]) == 2
    assert has_error(capsys.readouterr().err, *sentence)
    assert not list(tmp_path.iterdir())
