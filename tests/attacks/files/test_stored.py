"""What a program has stored is measured in bounded time, and nothing outside its folder counts."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.stored import stored

MIB = 2**20


def measured(path, most_entries=100, most_depth=100):
    return stored(path, most_entries, most_depth)


def test_blocks_count_and_not_lengths(tmp_path):
    before = measured(tmp_path).size_bytes
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(200 * MIB)
    assert measured(tmp_path).size_bytes == before
    with (tmp_path / "full").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, MIB)
    assert measured(tmp_path).size_bytes - before >= MIB


def test_links_are_not_followed(tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "large").write_bytes(bytes(MIB))
    (own / "folder").symlink_to(other)
    (own / "file").symlink_to(other / "large")
    (own / "loop").symlink_to(own)
    os.mkfifo(own / "pipe")
    found = measured(own)
    assert (found.entries, found.depth) == (4, 1) and found.size_bytes < MIB

    (tmp_path / "link").symlink_to(other)
    with pytest.raises(OSError, match="link"):
        measured(tmp_path / "link")


def test_a_file_with_many_names_counts_once(tmp_path):
    (tmp_path / "0").write_bytes(bytes(MIB))
    for number in range(1, 20):
        os.link(tmp_path / "0", tmp_path / str(number))
    found = measured(tmp_path)
    assert found.entries == 20 and MIB <= found.size_bytes < 2 * MIB


def test_a_folder_without_permissions_is_opened(tmp_path):
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "large").write_bytes(bytes(MIB))
    (tmp_path / "shut").chmod(0)
    assert measured(tmp_path).size_bytes >= MIB


def test_depth_beyond_any_path_is_measured_up_to_the_limit(tmp_path):
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 200, dir_fd=at)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    assert measured(tmp_path, 1_000, 64)[1:] == (65, 65)


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 40))
def test_the_walk_ends_one_beyond_its_limit(tmp_path_factory, files, most):
    top = tmp_path_factory.mktemp("tree")
    for index, count in enumerate(files):
        (top / str(index)).mkdir()
        for number in range(count):
            (top / str(index) / str(number)).touch()
    assert measured(top, most).entries == min(len(files) + sum(files), most + 1)
