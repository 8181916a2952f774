"""Folders that somebody else filled are removed whatever is in them, and nothing that they lead to."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import files
from harness.system import processes

#: Deeper than Python's stack.
DEEP = 1_200
NOBODY = 65_534
NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20)
TREES = st.recursive(
    st.sampled_from(["file", "link to a file", "link to a folder", "broken link", "pipe"]),
    lambda inner: st.dictionaries(NAMES.filter(lambda name: name not in (".", "..")), inner, max_size=4),
    max_leaves=15,
)


def grow(path: Path, tree: object, outside: Path) -> None:
    match tree:
        case dict():
            path.mkdir(mode=0o700)
            for name, inner in tree.items():
                grow(path / name, inner, outside)
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
def test_any_tree_is_removed_and_nothing_it_leads_to(tree) -> None:
    with TemporaryDirectory() as scratch:
        outside, path = Path(scratch, "outside"), Path(scratch, "tree")
        outside.mkdir()
        (outside / "file").touch()
        grow(path, tree, outside)
        files.remove_tree(path)
        assert [each.name for each in Path(scratch).iterdir()] == ["outside"]
        assert [each.name for each in outside.iterdir()] == ["file"]


def dig(path: Path, depth: int) -> None:
    """Folders in folders, deeper than a path is long."""
    path.mkdir()
    at = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deeper", dir_fd=at)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def test_folders_deeper_than_the_stack_are_removed(tmp_path) -> None:
    dig(tmp_path / "deep", DEEP)
    files.remove_tree(tmp_path / "deep")
    assert not list(tmp_path.iterdir())


def test_a_trial_with_deep_folders_can_be_begun_again(run, trial) -> None:
    dig(trial / "client", DEEP)
    run.begin(trial.name)
    assert not list(trial.iterdir())


def test_scratch_folders_of_the_dead_are_swept_however_deep_they_are(tmp_path, monkeypatch) -> None:
    """Left by a client, such a folder would otherwise stop every later command."""
    with subprocess.Popen(["true"]) as dead:
        pass
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f"kafka-trial-{dead.pid}-1-{processes._namespace()}-x"
    dig(left, DEEP)
    assert f"folder {left}" in processes.sweep()
    assert not left.exists()


def test_several_may_remove_the_same(tmp_path) -> None:
    top = tmp_path / "top"
    for number in range(40):
        dig(top / f"{number}" if top.exists() else top, 20)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(4, context) as pool:
        for done in [pool.submit(files.remove_tree, top) for _ in range(4)]:
            done.result()
    assert not top.exists()


def test_a_user_s_own_folders_that_deny_everything_are_removed(tmp_path) -> None:
    """As one who is not root, who may enter every folder."""
    if os.getuid():
        pytest.skip("only root becomes somebody else")
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


def test_a_link_in_the_way_to_what_is_removed_is_not_followed(run, trial, outside) -> None:
    (run.folder / "trials").rename(run.folder / "away")
    (run.folder / "trials").symlink_to(outside)
    with pytest.raises(OSError, match="is a link, not a folder"):
        files.remove_tree(run.folder / "trials" / "notes", run.folder)


def test_nothing_at_all_is_removed_without_a_word(tmp_path) -> None:
    files.remove_tree(tmp_path / "nothing" / "here")
