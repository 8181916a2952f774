"""What makes a version bad: a failure, a missed threshold, or an outcome like that of the bad end."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.cli.main import call
from harness.cli.options import Options
from harness.cli.run_plan import new_record
from harness.model.errors import UsageError
from harness.model.rows import Availability, TrialVerdict
from harness.model.spec import ClientRef, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.plugins.client import InstalledClient, Launch
from harness.search.bisect_run import Bisection
from harness.search.bisect_search import VersionState
from harness.search.criteria import ByFailure, ByOutcome, ByThreshold, criterion
from harness.search.trial_batches import GrowingRun
from harness.storage.run_store import RunStore
from testkit.codes import has_error, raises_code

GOOD, BAD, SKIPPED = VersionState.GOOD, VersionState.BAD, VersionState.SKIPPED
VERSIONS = [f"1.{number}" for number in range(16)]


@pytest.fixture(scope="session")
def trial(verdict):
    """Return a trial with ``given_up`` of 1,000 records given up; it recovered after ``after_ms``, None is never."""

    def made(given_up=0, after_ms: int | None = 0, **of):
        told = Availability(
            offered=1_000,
            acked=1_000 - given_up,
            failed=given_up,
            steady_ack_ms=after_ms,
            recovered=after_ms is not None,
        )
        return replace(verdict(**of), availability=told)

    return made


def learnt(on, good, bad):
    """Return a criterion that knows both ends, each of them with six seeds."""
    made = criterion(on, None)
    made.learn(six(good), six(bad))
    return made


def six(verdicts):
    """Return the same verdicts with six seeds."""
    return [replace(each, seed=seed) for each in verdicts for seed in range(6)]


def test_what_to_bisect_on():
    assert isinstance(criterion(None, "lost"), ByFailure)
    assert isinstance(criterion("given_up", None), ByOutcome)
    assert isinstance(criterion("given_up < 1%", None), ByThreshold)
    assert isinstance(criterion("offered < 1", None), ByThreshold)
    with raises_code(UsageError, "on-and-anomaly"):
        criterion("given_up", "lost")
    for neither in ("offered", "given_up <", ""):
        with raises_code(UsageError, "threshold-syntax"):
            criterion(neither, None)
    with raises_code(UsageError, "unknown-name"):
        criterion("given_upp", None)


@given(st.integers(0, 1_000), st.integers(0, 1_000), st.integers(0, 1_000))
def test_a_version_is_like_the_end_that_it_is_nearer_to(trial, good, bad, number):
    assume(good != bad)
    judge = learnt("given_up", [trial(good)], [trial(bad)])
    assert judge.state([trial(good)]) is GOOD and judge.state([trial(bad)]) is BAD
    to_good, to_bad = abs(number - good), abs(number - bad)
    if to_good != to_bad:
        assert judge.state([trial(number)]) is (GOOD if to_good < to_bad else BAD)


@pytest.mark.parametrize("other", [0, 500, 1_000])
def test_with_ends_alike_every_version_is_good(trial, other):
    judge = learnt("given_up", [trial(500)], [trial(500)])
    assert judge.state([trial(other)]) is GOOD
    slightly = learnt("recovery", [trial(0, 1_000)], [trial(0, 1_249)])
    assert slightly.state([trial(0, 9_000)]) is GOOD


@pytest.mark.parametrize(("good", "bad"), [(500, None), (None, 500)])
def test_a_recovery_that_never_came_is_an_end_by_itself(trial, good, bad):
    judge = learnt("recovery", [trial(0, good)], [trial(0, bad)])
    assert judge.state([trial(0, good)]) is GOOD and judge.state([trial(0, bad)]) is BAD
    assert judge.state([trial(0, 60_000)]) is (GOOD if bad is None else BAD)
    assert "never" in judge.seen([trial(0, None)])


def test_never_recovering_at_both_ends_is_alike(trial):
    judge = learnt("recovery", [trial(0, None)], [trial(0, None)])
    assert judge.state([trial(0, None)]) is judge.state([trial(0, 5)]) is GOOD


@pytest.mark.parametrize("on", ["given_up", "given_up < 1%"])
def test_a_version_without_a_trial_that_counts_is_skipped(trial, on):
    judge = learnt(on, [trial(0)], [trial(900)])
    for none in ([], [trial(900, verdict="inconclusive")]):
        assert (judge.state(none), judge.seen(none)) == (SKIPPED, "")
    assert learnt(on, [], [trial(900)]).state([trial(0)]) is GOOD


def test_a_threshold_is_missed_if_any_row_misses_it(trial):
    judge = criterion("given_up < 1%", None)
    calm, reset = trial(5), trial(50, scenario="network/reset")
    assert (judge.state([calm]), judge.state([reset]), judge.state([calm, reset])) == (GOOD, BAD, BAD)
    assert judge.seen([calm, reset]) == "5.0%, 0.5%"
    assert judge.seeds([reset]) == 1


def test_shares_are_over_all_records_of_a_version(trial):
    judge = learnt("given_up", [trial(0)], [trial(500)])
    assert judge.state([trial(900), trial(0, seed=2), trial(0, seed=3), trial(0, seed=4)]) is GOOD
    assert judge.seen([trial(900), trial(100, seed=2)]) == "given up 50.0%"


class World:
    """Versions with this share of records given up, by their number."""

    def __init__(self, tmp_path, given_up) -> None:
        self.store = RunStore.create(tmp_path, new_record(Plan(1, ()), Options(1)))
        self.run = GrowingRun(self.store, self._carry_out)
        self._given_up = given_up

    async def _carry_out(self) -> None:
        for spec in self.store.record.plan.trials:
            if not self.store.finished(spec.trial):
                number = self._given_up(VERSIONS.index(spec.client.version))
                told = Availability(offered=1_000, acked=1_000 - number, failed=number)
                self.store.write_verdict(
                    TrialVerdict(
                        spec.trial,
                        str(spec.client),
                        "b",
                        "s",
                        "idempotent",
                        spec.seed,
                        "pass",
                        "",
                        availability=told,
                    )
                )


def trials_of(version, seeds):
    spec = TrialSpec("", ClientRef("c", version), "b", "s", Guarantee.IDEMPOTENT, 1, Workload(), (), {})
    return [replace(spec, trial=f"{version}-{seed}", seed=seed) for seed in range(seeds)]


def bisected(tmp_path, given_up, on):
    """Bisect, and return the bisection with what it said."""
    told: list[str] = []
    world = World(tmp_path, given_up)
    found = Bisection(
        "c",
        VERSIONS,
        trials_of,
        6,
        criterion(on, None),
        False,
        {},
        told.append,
        install=lambda ref: InstalledClient(ref, Launch((), {})),
    )
    asyncio.run(found.run(world.run))
    return found, told


@pytest.mark.parametrize("on", ["given_up", "acknowledged", "given_up < 10%"])
@pytest.mark.parametrize("first", [1, 7, 11, 15])
def test_the_version_in_which_an_outcome_changed_is_found(tmp_path, on, first):
    found, told = bisected(tmp_path, lambda number: 300 if number >= first else 20, on)
    assert found.bracket == (VERSIONS[first - 1], VERSIONS[first]) and not found.untold
    assert found.failing.trial == f"{VERSIONS[first]}-0"
    assert told[0].startswith("1.0: good, ") and told[1].startswith("1.15: bad, ")


@pytest.mark.parametrize("seeds", [1, 5])
def test_ends_that_so_few_seeds_do_not_tell_apart_have_no_boundary(trial, seeds):
    judge = criterion("given_up", None)
    judge.learn(six([trial(0)])[:seeds], six([trial(900)])[:seeds])
    assert judge.state([trial(900)]) is GOOD and "six" in judge.hint


def test_ends_that_differ_in_some_seeds_only_have_no_boundary(trial):
    judge = criterion("given_up", None)
    other = [trial(900 if seed == 3 else 0, seed=seed) for seed in range(6)]
    judge.learn(six([trial(0)]), other)
    assert judge.state([trial(900)]) is GOOD


def test_without_a_change_the_ends_are_not_as_was_said(tmp_path):
    found, _ = bisected(tmp_path, lambda _: 300, "given_up")
    assert not found.is_as_said and {*found.seen} == {"1.0", "1.15"}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--on", "given_up < 5s"], "threshold-unit"),
        (["--on", "givenup < 5"], "unknown-name"),
        (["--on", "given_up", "--anomaly", "lost"], "on-and-anomaly"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(tmp_path, capsys, options, code):
    argv = ["bisect", "reference", "0.1.0", "0.1.1", "produce/calm", *options, "--out-dir", str(tmp_path)]
    assert call(argv) == 2
    assert has_error(capsys.readouterr().err, code)
    assert not [*tmp_path.iterdir()]
