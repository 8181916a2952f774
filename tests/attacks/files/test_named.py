"""Paths that the user names: pipes, devices and streams are written to, links are followed, and folders are refused."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness import files
from harness.cli.options import GivenPlan, Options
from harness.cli.run_plan import publish
from harness.model.errors import EnvironmentProblem, UsageError
from testkit.codes import coded, has_error, raises_code

DATA = b"<testsuites/>\n" * 20_000
PROGRAM = """
import sys
from pathlib import Path
from harness import files
for path in sys.argv[1:]:
    print("before")
    files.write_named(Path(path), b"written\\n")
    print("after", flush=True)
"""


def test_pipe_is_written_to(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    files.write_named(pipe, DATA)
    reader.join()
    assert read == [DATA] and pipe.is_fifo()


@pytest.mark.parametrize("path", ["/dev/null", "/proc/self/fd/{fd}", "/dev/fd/{fd}", "link"])
def test_device_and_descriptor_are_written_to(tmp_path, path) -> None:
    read_end, write_end = os.pipe()
    named = Path(path.format(fd=write_end)) if path != "link" else tmp_path / "link"
    if path == "link":
        named.symlink_to(f"/dev/fd/{write_end}")
    before = named.lstat().st_mode
    files.write_named(named, b"written")
    os.close(write_end)
    assert os.read(read_end, 100) == (b"" if path == "/dev/null" else b"written")
    os.close(read_end)
    assert path != "/dev/null" or named.lstat().st_mode == before


def run_in_bash(shell: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    argv = ["bash", "-c", shell, "bash", sys.executable, "-c", PROGRAM]
    return subprocess.run(argv, capture_output=True, text=True, cwd=cwd, check=True)


@pytest.mark.parametrize(
    "path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/self/task/self/../../fd/1"]
)
def test_stdout_is_written_in_order(tmp_path, path) -> None:
    assert run_in_bash(f'"$@" {path}', tmp_path).stdout == "before\nwritten\nafter\n"
    run_in_bash(f'echo first > out; "$@" {path} >> out; "$@" {path} > new', tmp_path)
    assert (tmp_path / "out").read_text() == "first\nbefore\nwritten\nafter\n"
    assert (tmp_path / "new").read_text() == "before\nwritten\nafter\n"


def test_process_substitution_is_written_to(tmp_path) -> None:
    run_in_bash('"$@" >(cat > copy) > /dev/null; wait "$!"', tmp_path)
    assert (tmp_path / "copy").read_text() == "written\n"


def test_socket_as_stdout_is_written_to(tmp_path) -> None:
    import socket

    receiver, sender = socket.socketpair()
    with receiver, sender:
        argv = [sys.executable, "-c", PROGRAM, "/dev/stdout"]
        subprocess.run(argv, stdout=sender, check=True)
        sender.close()
        received = b"".join(iter(lambda: receiver.recv(100), b""))
    assert received == b"before\nwritten\nafter\n"


def test_non_blocking_stream_gets_all_data(tmp_path) -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    read: list[bytes] = []

    def drain() -> None:
        with os.fdopen(read_end, "rb") as file:
            read.append(file.read())

    reader = threading.Thread(target=drain)
    reader.start()
    files.write_named(Path(f"/dev/fd/{write_end}"), DATA)
    os.close(write_end)
    reader.join()
    assert read == [DATA]


def test_closed_reader_is_an_error(tmp_path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with raises_code(EnvironmentProblem, "cannot-write", why="Broken pipe"):
        files.write_named(Path(f"/dev/fd/{write_end}"), DATA)
    os.close(write_end)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/dev/full", coded("cannot-write", why="No space left on device")),
        ("/dev/fd/9999", coded("cannot-write", why="Bad file descriptor")),
        (
            "/proc/no-such/file",
            coded(
                "cannot-write",
                path=re.compile(r"file$"),
                why=re.compile(r"No such file or directory|Read-only"),
            ),
        ),
        ("a/../file/under", coded("cannot-write", why=re.compile(r"Not a directory|File exists"))),
    ],
)
def test_unwritable_path_is_an_error(tmp_path, monkeypatch, path, why) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "a").mkdir()
    with raises_code(EnvironmentProblem, why):
        files.write_named(Path(path), b"data")


def test_link_is_kept_and_its_target_replaced(tmp_path) -> None:
    target, other = tmp_path / "shared" / "target", tmp_path / "other name"
    target.parent.mkdir()
    target.write_bytes(b"before")
    target.chmod(0o640)
    other.hardlink_to(target)
    (tmp_path / "second").symlink_to(target)
    (tmp_path / "first").symlink_to("second")
    files.write_named(tmp_path / "first", DATA)
    assert (tmp_path / "first").is_symlink() and (tmp_path / "second").is_symlink()
    assert target.read_bytes() == DATA and target.stat().st_mode & 0o777 == 0o640
    assert other.read_bytes() == b"before"  # replaced atomically, not overwritten
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_link_to_a_missing_file_is_followed(tmp_path) -> None:
    (tmp_path / "link").symlink_to("new/target")
    files.write_named(tmp_path / "link", DATA)
    assert (tmp_path / "new" / "target").read_bytes() == DATA and (tmp_path / "link").is_symlink()


def test_link_to_itself_is_an_error(tmp_path) -> None:
    (tmp_path / "link").symlink_to("link")
    with raises_code(EnvironmentProblem, "cannot-write", why=re.compile(r"Too many levels")):
        files.write_named(tmp_path / "link", DATA)
    assert (tmp_path / "link").is_symlink()


def test_new_file_respects_the_umask(tmp_path) -> None:
    before = os.umask(0o027)
    try:
        files.write_named(tmp_path / "new", DATA)
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("option", ["junit", "summary"])
@pytest.mark.parametrize("what", ["folder", "link to a folder"])
def test_folder_is_refused_before_the_run(tmp_path, outside, plant, option, what) -> None:
    plant(tmp_path / "out", what, outside)
    with raises_code(UsageError, "path-is-folder", path=re.compile(r"out$")):
        GivenPlan(**{option: tmp_path / "out"}).options(jobs=1)
    with raises_code(UsageError, "path-is-folder", path=re.compile(r"out$")):
        files.write_named(tmp_path / "out", DATA)


def test_exports_are_written_to_named_paths(run, tmp_path, capfd) -> None:
    (tmp_path / "link").symlink_to("target")
    publish(run, "completed", Options(1, junit=tmp_path / "link", summary=Path("/dev/stdout")))
    assert (tmp_path / "target").read_bytes() == (run.folder / "junit.xml").read_bytes()
    assert capfd.readouterr().out == (run.folder / "summary.md").read_text()


def test_endless_input_is_refused() -> None:
    with pytest.raises(OSError, match="longer than 5,000,000 bytes"):
        files.read_named(Path("/dev/zero"), 5_000_000)


def test_plan_can_be_read_from_a_pipe(run, trial, command, tmp_path) -> None:
    plan = (trial / "trial.json").read_bytes()
    os.mkfifo(tmp_path / "plan")
    writer = threading.Thread(target=lambda: (tmp_path / "plan").write_bytes(plan))
    writer.start()
    assert command("replay", tmp_path / "plan", "--out-dir", tmp_path / "again", "-q").code == 0
    writer.join()


@pytest.mark.parametrize(
    "argv",
    [
        ("judge", "LONG"),
        ("diff", "LONG", "LONG"),
        ("replay", "LONG"),
        ("report", "LONG"),
        ("report", "RUN", "--out", "LONG"),
        ("baseline", "check", "RUN", "--file", "LONG"),
        ("baseline", "update", "RUN", "--file", "LONG"),
        ("run", "produce/calm", "--dry-run", "--junit", "LONG"),
        ("run", "--resume", "LONG"),
        ("campaign", "LONG"),
    ],
    ids=" ".join,
)
def test_too_long_path_is_an_error(run, command, argv) -> None:
    ended = command(*({"LONG": "x" * 5_000, "RUN": run.folder}.get(word, word) for word in argv))
    assert ended.code == 2 and os.strerror(errno.ENAMETOOLONG) in ended.error_line


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("campaign",), "cannot-open"),
        (("replay",), "no-trial-there"),
        (("run", "produce/calm", "--baseline"), "cannot-read"),
    ],
)
def test_sparse_input_file_is_an_error(tmp_path, outside, command, plant, argv, code) -> None:
    plant(tmp_path / "input.toml", "sparse file", outside)
    ended = command(*argv, tmp_path / "input.toml", "--out-dir", tmp_path / "runs")
    assert ended.code == 2 and has_error(ended.error_line, code, "536,870,912")
