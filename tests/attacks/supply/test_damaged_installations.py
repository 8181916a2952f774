"""Each installation is compared with its manifest before use, and an altered one is never started."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.errors import EnvironmentProblem
from harness.provision import manifest
from harness.provision.caches import installations, installed
from harness.provision.installations import survey
from harness.provision.manifest import FIX
from testkit.codes import coded, has_error, raises_code

Tree = dict[str, bytes]
names = st.sampled_from(("a", "b", "c/d", "c/e", "f/g/h"))
trees = st.dictionaries(names, st.binary(max_size=4), min_size=1)


def write_tree(folder: Path, tree: Tree) -> None:
    for name, content in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@given(made=trees, now=trees, every_byte=st.booleans())
def test_missing_altered_and_surplus_files_are_reported(made: Tree, now: Tree, every_byte: bool) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        write_tree(Path(first), made)
        write_tree(Path(second), now)
        wrong = manifest.differences(Path(second), manifest.taken(Path(first)), every_byte=every_byte)
    named = {each.params["name"] for each in wrong if "." not in each.params["name"]}
    files = {name for name in made.keys() | now.keys() if made.get(name) != now.get(name)}
    folders = {str(Path(name).parents[n]) for name in files for n in range(len(Path(name).parents) - 1)}
    assert files <= {each.params["name"] for each in wrong} <= files | folders
    assert not named - files - folders


def build(folder: Path) -> None:
    write_tree(
        folder, {"bin/program": b"#!/bin/sh\n", "lib/library.so": b"\x7fELF and more", "lib/empty": b""}
    )
    (folder / "bin" / "program").chmod(0o755)
    (folder / "lib" / "link").symlink_to("library.so")


def same_size_and_time(place: Path) -> None:
    file = place / "lib" / "library.so"
    before = file.stat()
    file.write_bytes(b"\x7fELF and m0re")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def swapped(place: Path) -> None:
    (place / "lib" / "library.so").rename(place.parent / "library.so")
    (place / "lib" / "library.so").symlink_to(place.parent / "library.so")


def replaced_by_fifo(place: Path) -> None:
    (place / "bin" / "program").unlink()
    os.mkfifo(place / "bin" / "program")


def place_is_a_link(place: Path) -> None:
    place.rename(place.with_name("moved"))
    place.symlink_to(place.with_name("moved"))


def retargeted(place: Path) -> None:
    (place / "lib" / "link").unlink()
    (place / "lib" / "link").symlink_to("/bin/sh")


def a_folder_for_a_file(place: Path) -> None:
    (place / "lib" / "empty").unlink()
    (place / "lib" / "empty").mkdir()


def record_is_fifo(place: Path) -> None:
    manifest.path_of(place).unlink()
    os.mkfifo(manifest.path_of(place))


def record_is_a_link(place: Path) -> None:
    record = manifest.path_of(place)
    record.rename(place.with_name("record"))
    record.symlink_to(place.with_name("record"))


def surplus_name(place: Path) -> None:
    (place / "lib" / "\x1b]0;title\x07\n::error::").touch()


def name_of_no_text(place: Path) -> None:
    (place / "lib" / os.fsdecode(b"\xff\xfe")).touch()


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (
        lambda p: os.truncate(p / "lib/library.so", 4),
        coded("installation-damaged", first=coded("size-changed", found=4)),
    ),
    "emptied": (
        lambda p: os.truncate(p / "lib/library.so", 0),
        coded("installation-damaged", first=coded("size-changed", found=0)),
    ),
    "altered": (
        lambda p: (p / "lib/library.so").write_bytes(b"\x7fELF and m0re"),
        coded("installation-damaged", first=coded("entry-altered")),
    ),
    "altered in secret": (same_size_and_time, coded("installation-damaged", first=coded("entry-altered"))),
    "added": (
        lambda p: (p / "lib/sitecustomize.py").write_text("evil"),
        coded("installation-damaged", first=coded("entry-surplus")),
    ),
    "added folder": (
        lambda p: (p / "evil").mkdir(),
        coded("installation-damaged", first=coded("entry-surplus", name="evil")),
    ),
    "removed": (
        lambda p: (p / "lib/empty").unlink(),
        coded("installation-damaged", first=coded("entry-missing", name="lib/empty")),
    ),
    "emptied folder": (
        lambda p: shutil.rmtree(p / "bin"),
        coded("installation-damaged", first=coded("entry-missing", name="bin")),
    ),
    "mode": (
        lambda p: (p / "bin/program").chmod(0o777),
        coded("installation-damaged", first=coded("mode-changed", name="bin/program")),
    ),
    "setuid": (
        lambda p: (p / "bin/program").chmod(0o4755),
        coded("installation-damaged", first=coded("mode-changed", name="bin/program")),
    ),
    "folder mode": (
        lambda p: (p / "lib").chmod(0o777),
        coded("installation-damaged", first=coded("mode-changed", name="lib")),
    ),
    "link for a file": (
        swapped,
        coded("installation-damaged", first=coded("entry-replaced", name="lib/library.so", kind="link")),
    ),
    "link elsewhere": (
        retargeted,
        coded("installation-damaged", first=coded("link-changed", name="lib/link")),
    ),
    "fifo": (
        replaced_by_fifo,
        coded("installation-damaged", first=coded("entry-replaced", name="bin/program")),
    ),
    "folder for a file": (
        a_folder_for_a_file,
        coded("installation-damaged", first=coded("entry-replaced", name="lib/empty", kind="folder")),
    ),
    "link for the whole": (place_is_a_link, coded("installation-damaged", first=coded("place-not-a-folder"))),
    "escapes": (
        surplus_name,
        coded(
            "installation-damaged", first=coded("entry-surplus", name="lib/\\x1b]0;title\\x07\\n::error::")
        ),
    ),
    "no text": (
        name_of_no_text,
        coded("installation-damaged", first=coded("entry-surplus", name="lib/\\xff\\xfe")),
    ),
    "record emptied": (lambda p: manifest.path_of(p).write_bytes(b""), "manifest-unreadable"),
    "record nested": (
        lambda p: manifest.path_of(p).write_bytes(b"[" * 100_000),
        "manifest-unreadable",
    ),
    "record nested deeper": (
        lambda p: manifest.path_of(p).write_bytes(b'{"x":' + b"[" * 100_000),
        "manifest-unreadable",
    ),
    "record without an end": (
        lambda p: os.truncate(manifest.path_of(p), 2**40),
        coded("manifest-unreadable", why=re.compile(r"it has more than 67,108,864")),
    ),
    "record of odd modes": (
        lambda p: manifest.path_of(p).write_bytes(b'{"entries": {"bin": {"mode": %d}}}' % 2**70),
        "manifest-unreadable",
    ),
    "record is a fifo": (record_is_fifo, "manifest-unreadable"),
    "record is a link": (record_is_a_link, "manifest-unreadable"),
    "record of nothing": (
        lambda p: manifest.path_of(p).write_bytes(b'{"entries": {}}'),
        coded("installation-damaged", first=coded("entry-surplus", name="bin")),
    ),
}


@pytest.mark.parametrize("harm", DAMAGES)
def test_damaged_installation_is_refused_reported_and_removable(cache: Path, harm: str) -> None:
    do, sentence = DAMAGES[harm]
    place = installed("kind", "name", build)
    do(place)
    with raises_code(EnvironmentProblem, sentence) as caught:
        installed("kind", "name", build)
    assert caught.value.hint == FIX
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)
    damaged = next(one for one in survey() if one.name == "name")
    assert damaged.damage
    damaged.remove()
    assert installed("kind", "name", build) == place


@given(data=st.data())
def test_manifest_of_any_bytes_is_read_or_refused(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        place.mkdir()
        build(place)
        manifest.write(place, manifest.taken(place))
        valid = manifest.path_of(place).read_bytes()
        # Its length depends on the time, so it must not decide what is drawn.
        at = data.draw(st.integers(0, 10_000)) % (len(valid) + 1)
        until = at + data.draw(st.integers(0, 40))
        put = data.draw(
            st.binary(max_size=8) | st.sampled_from((b"-1", b"9" * 25, b'"', b"{}", b"[[[", b"null"))
        )
        manifest.path_of(place).write_bytes(valid[:at] + put + valid[until:])
        try:
            manifest.verified(place)
        except EnvironmentProblem as problem:
            assert "\n" not in str(problem)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_planted_lock_file_does_not_block(cache: Path, make: Callable[[Path], object]) -> None:
    kind = installations() / "kind"
    (kind / "name").mkdir(parents=True)
    make(kind / ".name.lock")
    try:
        installed("kind", "name", build)
    except EnvironmentProblem as problem:
        assert has_error(problem, "cache-not-lockable", ".name.lock")


def test_link_target_of_a_lock_file_is_not_changed(cache: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (installations() / "kind").mkdir(parents=True)
    (installations() / "kind" / ".name.lock").symlink_to(precious)
    with raises_code(EnvironmentProblem, "cache-not-lockable", file=re.compile(r"\.name\.lock$")):
        installed("kind", "name", build)
    assert precious.read_text() == "precious"


def test_undamaged_installation_is_not_rebuilt(cache: Path) -> None:
    place = installed("kind", "name", build)
    os.utime(
        place / "lib" / "library.so"
    )  # a backup or a copy of the cache changes times: only the contents count
    assert installed("kind", "name", lambda folder: pytest.fail("built again")) == place
    assert [one.damage for one in survey()] == [None]


def test_removing_a_linked_installation_keeps_the_link_target(cache: Path, tmp_path: Path) -> None:
    place = installed("kind", "name", build)
    shutil.rmtree(place)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    place.symlink_to(tmp_path / "precious")
    [one] = survey()
    one.remove()
    assert (tmp_path / "precious" / "file").exists()


def test_unfinished_installation_is_rebuilt(cache: Path) -> None:
    place = installed("kind", "name", build)
    manifest.path_of(place).unlink()
    os.truncate(place / "lib" / "library.so", 4)
    assert [one.damage for one in survey()] == ["it was begun, and never finished"]
    installed("kind", "name", build)
    assert (place / "lib" / "library.so").read_bytes() == b"\x7fELF and more"


def test_build_with_a_special_file_is_refused(cache: Path) -> None:
    with raises_code(EnvironmentProblem, "installation-odd-file", name="fifo"):
        installed("kind", "name", lambda folder: os.mkfifo(folder / "fifo"))
    assert not (installations() / "kind" / "name").exists()
