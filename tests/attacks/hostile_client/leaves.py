"""Attacks with files: the trace, the log and the folder of the client."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from contract import MIB, at, for_a_while, trace


@at("produce")
def traces_into_a_pipe(_: Any) -> None:
    os.mkfifo(trace())


@at("produce")
def pipes_its_log(_: Any) -> None:
    """Replace the log by a pipe. The exit makes the harness quote its last line."""
    log = trace().parent.parent / "client.log"
    log.rename(log.with_name("moved"))
    os.mkfifo(log)
    os._exit(3)


@at("produce")
def traces_through_a_link(_: Any) -> None:
    trace().symlink_to("/etc/passwd")


@at("produce")
def traces_into_a_folder(_: Any) -> None:
    trace().mkdir()


@at("produce")
def traces_a_hole(_: Any) -> None:
    with trace().open("wb") as file:
        file.truncate(200 * MIB)


@at("produce")
def traces_nests(_: Any) -> None:
    trace().write_bytes(b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n")


@at("produce")
def traces_a_little_deep(_: Any) -> None:
    trace().write_bytes(b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}\n")


@at("produce")
def traces_no_text(_: Any) -> None:
    trace().write_bytes(b'{"a": "\xff\xfe"}\n')


@at("produce")
def traces_at_length(_: Any) -> None:
    trace().write_bytes(json.dumps({"a": "x" * 100_000, "n": 2**400}).encode() + b"\n")


@at("produce")
def fills_the_disk(_: Any) -> None:
    with (trace().parent / "large").open("wb") as file:
        for _ in for_a_while():
            file.write(b"x" * MIB)


@at("produce")
def fills_the_disk_with_many_files(_: Any) -> None:
    """Write small files without end, in many folders."""
    for number, _ in enumerate(for_a_while()):
        folder = trace().parent / str(number // 100)
        folder.mkdir(exist_ok=True)
        (folder / str(number)).write_bytes(b"x" * 4_096)


@at("produce")
def plants_links(_: Any) -> None:
    """Create links at all names to which the harness will write in the trial's folder."""
    folder = trace().parent.parent
    rows = (f"{name}.jsonl{end}" for name in ("history", "frames", "log") for end in ("", ".zst"))
    for name in (*rows, "trial.json", "verdict.json", "traceback.txt"):
        for planted in (folder / name, folder / f".{name}.partial"):
            if not planted.exists():
                planted.symlink_to(Path(os.environ["HOME"]) / f"taken-{name}")


@at("produce")
def removes_its_folder(_: Any) -> None:
    subprocess.run(["rm", "-rf", str(trace().parent.parent)], check=False)
