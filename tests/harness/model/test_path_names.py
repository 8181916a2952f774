"""Names of runs and trials are always one component of a path."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.errors import UsageError
from harness.model.path_names import LONGEST, folder_name, made_of
from harness.model.rows import TrialVerdict
from harness.model.spec import Plan
from harness.storage.run_store import RunRecord, RunStore
from testkit.codes import raises_code

#: Names that lead to another folder or to none, and names that are only unusual.
ELSEWHERE = ["", ".", "..", "../../escaped", "/escaped", "a/b", "a/../../b", "a\0"]
STRANGE = [*ELSEWHERE, "a\\b", "a b", "a\n", "ä", ".a", "x" * 256]


def record(run_id: str = "run") -> RunRecord:
    return RunRecord(run_id, "2026-01-01T00:00:00+00:00", Plan(3, ()), 1, {}, [])


@pytest.mark.parametrize("name", ["t", "run-1", "a@1.2.3+b_c", "-", "x" * LONGEST])
def test_a_plain_name_is_accepted(name: str) -> None:
    assert folder_name(name, "trial") == made_of(name) == name


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_name_is_refused(name: str) -> None:
    with raises_code(UsageError, "name-not-portable", what="trial", most=255):
        folder_name(name, "trial")


@pytest.mark.parametrize("name", ["odd #name?50%", "a b", "...", "..a"])
def test_a_trial_with_an_unusual_name_can_be_read(tmp_path: Path, name: str) -> None:
    store = RunStore.create(tmp_path, record())
    assert store.trial_folder(name).resolve().parent == store.folder.resolve() / "trials"


@given(st.text(min_size=1, max_size=300))
def test_any_text_can_be_turned_into_a_name(text: str) -> None:
    assert folder_name(made_of(text), "trial")


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_trial_is_never_written_outside_its_run(tmp_path: Path, name: str) -> None:
    store = RunStore.create(tmp_path / "a" / "b", record())
    before = sorted(tmp_path.rglob("*"))
    verdict = TrialVerdict(name, "c@1", "local:x", "produce/calm", "idempotent", 3, "pass", "")
    with raises_code(UsageError, "name-leaves-folder", what="trial"):
        store.write_verdict(verdict)
    with raises_code(UsageError, "name-leaves-folder", what="trial"):
        store.read_evidence(name)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", STRANGE)
def test_a_run_is_never_written_outside_the_folder_of_runs(tmp_path: Path, name: str) -> None:
    with raises_code(UsageError, "name-not-portable", what="run"):
        RunStore.create(tmp_path / "a" / "b", record(name))
    assert not list(tmp_path.iterdir())


def test_latest_cannot_point_to_another_folder(tmp_path: Path) -> None:
    RunStore.create(tmp_path / "others", record())
    RunStore.create(tmp_path / "mine", record())
    (tmp_path / "mine" / "latest").write_text("../others/run\n")
    with raises_code(UsageError, "name-not-portable", what="run"):
        RunStore.open(tmp_path / "mine")
