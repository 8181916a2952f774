"""Runs without a broker: folders written by the harness's own writers, from constructed histories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from random import Random

import pytest

from harness.model.spec import Plan, TrialSpec
from harness.model.verdicts import Guarantee
from harness.storage.run_store import RunRecord, RunStore
from tests.reports.full_story import full_story
from tests.reports.random_story import random_story
from tests.reports.story import CLIENTS, RUN, Story, new_story


def write_run(
    folder: Path, stories: Iterable[Story], *, planned: Iterable[TrialSpec] = (), run_id: str = RUN
) -> RunStore:
    """Write a run of ``stories``, all finished, and of ``planned`` trials that did not run."""
    stories = list(stories)
    plan = Plan(seed=7, trials=(*(story.spec for story in stories), *planned))
    record = RunRecord(
        run_id=run_id,
        started_utc="2026-03-01T10:20:30Z",
        plan=plan,
        jobs=2,
        environment={"kafka": "4.3.1", "python": "3.11.2"},
        command=["kafka-trial", "run", "produce/dropped-response", "--seed", "7"],
        stop_reason="completed",
    )
    store = RunStore.create(folder, record)
    for story in stories:
        store.write_evidence(story.evidence(run_id))
        store.write_verdict(story.judgement())
    return store


def four_trials(folder: Path) -> tuple[dict[str, Story], RunStore]:
    """Return four whole trials: calm, retried by two clients (one verdict is wrong), and an inconclusive one."""
    idempotent = full_story("idp-reference", guarantee=Guarantee.IDEMPOTENT)
    idempotent.verdict, idempotent.reason = "inconclusive", "the client's process stood still for 4 s"
    tampered = full_story("alo-reference")
    tampered.counts = tampered.counts | {"lost": 3, "duplicated": tampered.counts["duplicated"] - 1}
    stories = [
        full_story("calm", scenario="produce/calm"),
        full_story("alo-confluent", client=CLIENTS[0]),
        tampered,
        idempotent,
    ]
    return {story.spec.trial: story for story in stories}, write_run(folder, stories)


@pytest.fixture
def story() -> Callable[..., Story]:
    return new_story


@pytest.fixture
def whole_story() -> Callable[..., Story]:
    return full_story


@pytest.fixture
def any_story() -> Callable[[str, Random], Story]:
    return random_story


@pytest.fixture(scope="session")
def whole_run() -> Callable[[Path], tuple[dict[str, Story], RunStore]]:
    return four_trials


@pytest.fixture
def run_of(tmp_path: Path) -> Callable[..., RunStore]:
    numbers = count()
    return lambda *stories, **more: write_run(tmp_path / f"runs-{next(numbers)}", stories, **more)


@pytest.fixture(scope="module")
def new_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunStore]:
    """Return a run of trials of these names, each made by ``make(trial, new_story)``."""

    def run(make: Callable[..., Story], trials: Iterable[str]) -> RunStore:
        return write_run(tmp_path_factory.mktemp("run"), [make(trial, new_story) for trial in trials])

    return run
