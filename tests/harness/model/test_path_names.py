"""Names of runs and trials are one component of a path, whatever they are made of."""

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

#: Each leads elsewhere, or nowhere; and those that only look strange.
ELSEWHERE = ["", ".", "..", "../../escaped", "/escaped", "a/b", "a/../../b", "a\0"]
STRANGE = [*ELSEWHERE, "a\\b", "a b", "a\n", "ä", ".a", "x" * 256]


def record(run_id: str = "run") -> RunRecord:
    return RunRecord(run_id, "2026-01-01T00:00:00+00:00", Plan(3, ()), 1, {}, [])


@pytest.mark.parametrize("name", ["t", "run-1", "a@1.2.3+b_c", "-", "x" * LONGEST])
def test_a_plain_name_is_taken(name: str) -> None:
    assert folder_name(name, "trial") == made_of(name) == name


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_name_is_refused(name: str) -> None:
    with raises_code(UsageError, "name-not-portable", what="trial", most=255):
        folder_name(name, "trial")


@pytest.mark.parametrize("name", ["odd #name?50%", "a b", "...", "..a"])
def test_a_trial_that_was_called_something_odd_can_still_be_read(tmp_path: Path, name: str) -> None:
    store = RunStore.create(tmp_path, record())
    assert store.trial_folder(name).resolve().parent == store.folder.resolve() / "trials"


@given(st.text(min_size=1, max_size=300))
def test_a_name_can_be_made_of_any_text(text: str) -> None:
    assert folder_name(made_of(text), "trial")


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_trial_is_written_into_the_folder_of_its_run_and_nowhere_else(tmp_path: Path, name: str) -> None:
    store = RunStore.create(tmp_path / "a" / "b", record())
    before = sorted(tmp_path.rglob("*"))
    verdict = TrialVerdict(name, "c@1", "local:x", "produce/calm", "idempotent", 3, "pass", "")
    with raises_code(UsageError, "name-leaves-folder", what="trial"):
        store.write_verdict(verdict)
    with raises_code(UsageError, "name-leaves-folder", what="trial"):
        store.read_evidence(name)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", STRANGE)
def test_a_run_is_written_into_the_folder_of_runs_and_nowhere_else(tmp_path: Path, name: str) -> None:
    with raises_code(UsageError, "name-not-portable", what="run"):
        RunStore.create(tmp_path / "a" / "b", record(name))
    assert not list(tmp_path.iterdir())


def test_the_pointer_to_the_latest_run_leads_to_no_other_folder(tmp_path: Path) -> None:
    RunStore.create(tmp_path / "others", record())
    RunStore.create(tmp_path / "mine", record())
    (tmp_path / "mine" / "latest").write_text("../others/run\n")
    with raises_code(UsageError, "name-not-portable", what="run"):
        RunStore.open(tmp_path / "mine")
