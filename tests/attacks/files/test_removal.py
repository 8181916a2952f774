"""Removing a folder works whatever is in it, and never removes anything that a link points to."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import files
from harness.system import processes

#: Deeper than Python's recursion limit.
DEEP = 1_200
NOBODY = 65_534
NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20)
TREES = st.recursive(
    st.sampled_from(["file", "link to a file", "link to a folder", "broken link", "pipe"]),
    lambda inner: st.dictionaries(NAMES.filter(lambda name: name not in (".", "..")), inner, max_size=4),
    max_leaves=15,
)


def create_tree(path: Path, tree: object, outside: Path) -> None:
    match tree:
        case dict():
            path.mkdir(mode=0o700)
            for name, inner in tree.items():
                create_tree(path / name, inner, outside)
            path.chmod(0o000)
        case "file":
            path.touch(mode=0o000)
        case "pipe":
            os.mkfifo(path)
        case "broken link":
            path.symlink_to(outside / "new")
        case "link to a file":
            path.symlink_to(outside / "file")
        case _:
            path.symlink_to(outside)


@given(TREES)
def test_any_tree_is_removed_and_link_targets_are_kept(tree) -> None:
    with TemporaryDirectory() as scratch:
        outside, path = Path(scratch, "outside"), Path(scratch, "tree")
        outside.mkdir()
        (outside / "file").touch()
        create_tree(path, tree, outside)
        files.remove_tree(path)
        assert [each.name for each in Path(scratch).iterdir()] == ["outside"]
        assert [each.name for each in outside.iterdir()] == ["file"]


def create_nested(path: Path, depth: int) -> None:
    """Create nested folders whose path is longer than the system allows."""
    path.mkdir()
    at = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deeper", dir_fd=at)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def test_folders_deeper_than_recursion_limit_are_removed(tmp_path) -> None:
    create_nested(tmp_path / "deep", DEEP)
    files.remove_tree(tmp_path / "deep")
    assert not list(tmp_path.iterdir())


def test_trial_with_deep_folders_can_be_rerun(run, trial) -> None:
    create_nested(trial / "client", DEEP)
    run.begin(trial.name)
    assert not list(trial.iterdir())


def test_deep_scratch_folder_of_dead_process_is_swept(temporary_folder) -> None:
    """A client can leave such a folder. If it was not removed, every later command would fail."""
    with subprocess.Popen(["true"]) as dead:
        pass
    namespace = processes.owner().rpartition(":")[2]
    left = temporary_folder / f"kafka-trial-{dead.pid}-1-{namespace}-x"
    create_nested(left, DEEP)
    assert f"folder {left}" in processes.sweep()
    assert not left.exists()


def test_processes_can_remove_the_same_folder(tmp_path) -> None:
    top = tmp_path / "top"
    for number in range(40):
        create_nested(top / f"{number}" if top.exists() else top, 20)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(4, context) as pool:
        for done in [pool.submit(files.remove_tree, top) for _ in range(4)]:
            done.result()
    assert not top.exists()


def test_own_folders_without_permissions_are_removed(tmp_path) -> None:
    """Runs as another user, because root can enter every folder."""
    if os.getuid():
        pytest.skip("only root can change the user")
    program = (
        "import os, sys; from pathlib import Path; from harness import files\n"
        f"os.setgroups([]); os.setresgid(*[{NOBODY}] * 3); os.setresuid(*[{NOBODY}] * 3)\n"
        "top = Path(sys.argv[1]); (top / 'a' / 'b' / 'c').mkdir(parents=True); (top / 'a' / 'file').touch()\n"
        "for each in (top / 'a' / 'b' / 'c', top / 'a' / 'b', top / 'a'): each.chmod(0)\n"
        "files.remove_tree(top / 'a'); print(os.listdir(top))\n"
    )
    with TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o777)
        done = subprocess.run(
            [sys.executable, "-c", program, scratch], capture_output=True, text=True, check=False
        )
    assert done.stdout == "[]\n", done.stderr


def test_link_on_path_of_removed_folder_is_not_followed(run, trial, outside) -> None:
    (run.folder / "trials").rename(run.folder / "away")
    (run.folder / "trials").symlink_to(outside)
    with pytest.raises(OSError, match="is a link, not a folder"):
        files.remove_tree(run.folder / "trials" / "notes", run.folder)


def test_removing_a_missing_folder_does_nothing(tmp_path) -> None:
    files.remove_tree(tmp_path / "nothing" / "here")
