"""Shards become one run: the plan they were cut from, or one sentence. Their files are not trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.judging import repeats
from harness.model.errors import UsageError
from harness.model.run_files import LOG, RUN, VERDICT
from harness.model.spec import Plan
from harness.storage import shards
from harness.storage.merging import merge
from harness.storage.run_store import LeftOut, RunRecord, RunStore
from testkit.codes import raises_code

VERSION = {"kafka-trial": "0.1.0"}


@pytest.fixture
def plan(spec, verdict) -> Plan:
    """Return a plan of seven trials."""
    return Plan(7, tuple(spec(verdict(seed=seed)) for seed in range(7)))


@pytest.fixture
def shard(tmp_path, plan, verdict):
    """Return a function that makes the finished run of a shard and returns its folder."""

    def make(number: int, of: int = 3, whole: Plan = plan, **values: object) -> Path:
        part = repeats.shard(whole, number, of)
        record = RunRecord(
            f"run-{number}",
            f"2026-01-0{number}",
            part,
            1,
            VERSION,
            [],
            "completed",
            shard=shards.of(whole, number, of),
        )
        store = RunStore.create(tmp_path / f"shard-{number}", replace(record, **values))
        for spec in part.trials:
            store.begin(spec.trial)
            store.write_verdict(verdict(seed=spec.seed))
        return store.folder

    return make


def content(folder: Path) -> dict[str, bytes]:
    """Return every file below the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 9), st.randoms(use_true_random=False))
def test_the_parts_of_a_plan_join_to_the_plan(plan, of, random):
    records = {
        number: RunRecord(
            "r", "", repeats.shard(plan, number, of), 1, {}, [], shard=shards.of(plan, number, of)
        )
        for number in range(1, of + 1)
    }
    some = list(records)
    random.shuffle(some)
    assert shards.joined({number: records[number] for number in some}) == plan
    assert shards.missing(records) == []


def test_the_merged_run_has_the_whole_plan_and_every_verdict(shard, plan, tmp_path):
    store = merge([shard(3), shard(1), shard(2).parent], tmp_path / "merged")
    assert store.record.plan == plan and store.record.stop_reason == "completed"
    assert store.record.merged == ("run-1", "run-2", "run-3")
    assert [each.trial for each in store.verdicts()] == [each.trial for each in plan.trials]


def test_merging_again_gives_the_same_run_in_any_order_and_with_one_shard_named_twice(shard, tmp_path):
    runs = [shard(1), shard(2), shard(3)]
    merge(runs, tmp_path / "merged")
    before = content(tmp_path / "merged")
    merge([*reversed(runs), runs[0]], tmp_path / "merged")
    assert content(tmp_path / "merged") == before


def test_trials_that_were_repeated_come_last(shard, plan, tmp_path, verdict):
    runs = [shard(1), shard(2), shard(3)]
    store = RunStore(runs[0])
    again = repeats.attempt_of(plan.trials[0], 2)
    store.replace_plan(replace(store.record.plan, trials=(*store.record.plan.trials, again)))
    assert merge(runs, tmp_path / "merged").record.plan.trials == (*plan.trials, again)


def test_a_missing_shard_and_what_stopped_the_others_are_named(shard, tmp_path):
    left_out = (LeftOut("c@2", "no-wheel", "no wheel"),)
    runs = [shard(1), shard(3, stop_reason="the time is up", left_out=left_out)]
    record = merge(runs, tmp_path / "merged").record
    assert record.stop_reason == "shard 2 is missing; shard 3: the time is up"
    assert record.left_out == left_out


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"environment": {"kafka-trial": "0.2.0"}}, "version of kafka-trial"),
        ({"capture": True}, "--capture"),
        ({"deflake": 3}, "--deflake"),
        ({"thresholds": ("given_up < 1%",)}, "list of thresholds"),
    ],
)
def test_runs_that_were_made_differently_are_refused(shard, tmp_path, values, what):
    with raises_code(UsageError, "shards-differ", what=what):
        merge([shard(1), shard(2, **values)], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_shards_of_different_plans_are_refused(shard, plan, tmp_path):
    with raises_code(UsageError, "shards-differ", what="plan"):
        merge([shard(1), shard(2, whole=replace(plan, seed=8))], tmp_path / "merged")
    with raises_code(UsageError, "shards-differ", what="number of shards"):
        merge([tmp_path / "shard-1", shard(3, of=4)], tmp_path / "merged")


def test_a_run_without_a_shard_is_refused(shard, tmp_path):
    with raises_code(UsageError, "not-a-shard"):
        merge([shard(1, shard=None)], tmp_path / "merged")


def test_two_runs_of_one_shard_are_refused(shard, plan, tmp_path):
    other = RunStore.create(tmp_path / "other", replace(RunStore(shard(1)).record, run_id="run-9")).folder
    with raises_code(UsageError, "shard-twice"):
        merge([tmp_path / "shard-1", other], tmp_path / "merged")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda trials: trials[1:], "shard-not-valid"),
        (lambda trials: (trials[1], trials[0], *trials[2:]), "shards-not-the-plan"),
    ],
    ids=["removed", "swapped"],
)
def test_a_plan_that_was_tampered_with_is_refused(shard, tmp_path, change, code):
    runs = [shard(1), shard(2), shard(3)]
    store = RunStore(runs[0])
    store.replace_plan(replace(store.record.plan, trials=change(store.record.plan.trials)))
    with raises_code(UsageError, code):
        merge(runs, tmp_path / "merged")


@pytest.mark.parametrize("number", [0, -1, 4, 2**70])
def test_a_shard_number_out_of_range_is_refused(shard, tmp_path, number):
    run = shard(1)
    text = (run / RUN).read_text()
    (run / RUN).write_text(
        text.replace('"number":1', f'"number":{number}').replace('"number": 1', f'"number": {number}')
    )
    with raises_code(UsageError, "shard-not-valid"):
        merge([run], tmp_path / "merged")


def test_links_and_pipes_in_a_trial_are_not_copied(shard, plan, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    runs = [shard(1), shard(2), shard(3)]
    trial = RunStore(runs[0]).trial_folder(plan.trials[0].trial)
    (trial / LOG).symlink_to(secret)
    os.mkfifo(trial / "pipe")
    other = RunStore(runs[1]).trial_folder(plan.trials[1].trial)
    (other / VERDICT).unlink()
    (other / VERDICT).symlink_to(secret)
    store = merge(runs, tmp_path / "merged")
    assert b"secret" not in content(store.folder).values()
    assert not (store.trial_folder(plan.trials[0].trial) / LOG).exists()
    assert not (store.trial_folder(plan.trials[0].trial) / "pipe").exists()


def test_only_a_run_merged_from_these_shards_is_replaced(shard, tmp_path):
    runs = [shard(1), shard(2), shard(3)]
    for name, code in (("file", "merge-place-taken"), ("folder", "not-a-run"), ("run", "merge-place-taken")):
        place = tmp_path / name
        if name == "file":
            place.write_text("mine")
        elif name == "folder":
            place.mkdir()
            (place / "mine").write_text("mine")
        else:
            merge(runs[:2], place)
        before = content(tmp_path)
        with raises_code(UsageError, code):
            merge(runs, place)
        assert content(tmp_path) == before
    with raises_code(UsageError, "merge-inside-run"):
        merge(runs, runs[0] / "merged")
    with raises_code(UsageError, "merge-place-taken"):
        merge(runs, runs[0])


def test_a_shard_that_is_still_running_is_refused(shard, tmp_path):
    run = shard(1)
    with RunStore(run).claimed(), raises_code(UsageError, "run-in-use"):
        merge([run], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
