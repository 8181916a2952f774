"""The trials of a run are packed while others run, and the program ends with the run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness import files
from harness.model.run_files import RUN
from harness.model.spec import Plan
from harness.running import packing
from harness.running.packing import GROWTH, LEAST_TRIALS, Packer, is_due, while_trials_end
from harness.simulated.judged import simulate
from harness.storage.parquet_writer import PARTS, TABLES_FOLDER
from harness.storage.run_store import RunRecord, RunStore
from testkit.children import children

PROGRAM = "packing.program"


@given(st.integers(1, 100_000))
def test_little_is_left_to_pack_and_few_programs_start(trials: int) -> None:
    packed = programs = 0
    for finished in range(1, trials + 1):
        if is_due(finished, packed):
            packed, programs = finished, programs + 1
    assert trials - packed < max(LEAST_TRIALS, packed / GROWTH + 1)
    assert programs <= 4 + 4 * max(1, trials // LEAST_TRIALS).bit_length()


@pytest.fixture(scope="module")
def judged():
    return simulate("produce/calm", "reference", 1, "scripted:4.3.1x1")


@pytest.fixture
def store(tmp_path: Path, judged) -> RunStore:
    """Return a run of four trials, none of which is finished."""
    evidence, _ = judged
    specs = tuple(replace(evidence.record.spec, trial=f"trial-{number}") for number in range(4))
    return RunStore.create(tmp_path, RunRecord("run", "2026-03-01T10:20:30Z", Plan(1, specs), 1, {}, []))


def finish(store: RunStore, judged, number: int) -> None:
    evidence, verdict = judged
    trial = f"trial-{number}"
    spec = replace(evidence.record.spec, trial=trial)
    store.begin(trial)
    store.write_evidence(
        type(evidence)(**{**vars_of(evidence), "record": replace(evidence.record, spec=spec)})
    )
    store.write_verdict(replace(verdict, trial=trial))


def vars_of(evidence) -> dict:
    return {name: getattr(evidence, name) for name in evidence.__dataclass_fields__}


def tables(store: RunStore) -> list[str]:
    """Return what a run has of its tables, whole or not."""
    return [path.name for path in store.folder.iterdir() if TABLES_FOLDER in path.name]


class Programs:
    """Events of the programs that pack: one has started, and one has ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started, self.over = asyncio.Event(), asyncio.Event()
        monkeypatch.setattr(packing, "spawn", self._telling(packing.spawn, self.started))
        monkeypatch.setattr(packing, "stop", self._telling(packing.stop, self.over))

    @staticmethod
    def _telling(function, event):
        async def told(*arguments, **named):
            result = await function(*arguments, **named)
            event.set()
            return result

        return told


def test_trials_are_packed_while_others_run(store, judged, monkeypatch):
    monkeypatch.setattr(packing, "LEAST_TRIALS", 2)
    programs, packer = Programs(monkeypatch), Packer(store, 0)

    async def run() -> None:
        async with while_trials_end(packer):
            for number in range(3):
                finish(store, judged, number)
                packer.ended()
            await programs.over.wait()
            assert children(PROGRAM) == []

    asyncio.run(run())
    assert packer.packed in (2, 3)
    assert tables(store) == [TABLES_FOLDER]
    assert (store.folder / TABLES_FOLDER / PARTS).exists()


def test_a_run_that_ends_ends_the_packing_too(store, judged, monkeypatch):
    monkeypatch.setattr(packing, "LEAST_TRIALS", 1)
    programs = Programs(monkeypatch)
    finish(store, judged, 0)

    async def run() -> None:
        async with while_trials_end(Packer(store, 1)):
            await programs.started.wait()
        assert children(PROGRAM) == []

    asyncio.run(run())
    assert tables(store) in ([], [TABLES_FOLDER])


def test_a_program_that_fails_is_not_started_again(store, judged, monkeypatch):
    monkeypatch.setattr(packing, "LEAST_TRIALS", 1)
    finish(store, judged, 0)
    files.write_whole(store.folder / RUN, b"{}")
    packer = Packer(store, 1)
    asyncio.run(packer.work())
    assert packer.packed == 0
    assert tables(store) == []
