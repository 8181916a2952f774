"""The capturing process: it sees all packets of its time, leaves nothing behind, and never fails a trial."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import psutil
import pytest

from harness.capture import __main__ as process
from harness.capture.observer import Observer, observed
from harness.capture.pcapng import read
from harness.capture.tap import LACKS_RIGHT
from harness.files.row_files import read_rows
from harness.model.addresses import LaneAddress
from harness.model.run_files import CAPTURE, TCP
from harness.model.tcp_facts import TcpFact
from testkit.children import children

pytestmark = pytest.mark.long("starts the capturing process for each test")


def addresses(*ports: int) -> list[LaneAddress]:
    nowhere = ("127.0.0.1", 1)
    return [
        LaneAddress(0, broker, ("127.0.0.1", port), nowhere, nowhere) for broker, port in enumerate(ports, 1)
    ]


async def said_hello(server: asyncio.Server) -> None:
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello")
    writer.close()
    await writer.wait_closed()


async def trial(folder: Path) -> tuple[Observer, int]:
    """Return the observer of a server and a client that says hello, and the server's port."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with observed(folder, addresses(port)) as observer:
            await said_hello(server)
            await ended.wait()
        return observer, port


def _capturing() -> list[psutil.Process]:
    return children("harness.capture")


@pytest.mark.usefixtures("may_capture")
def test_all_packets_of_a_trial_are_captured(tmp_path):
    begin_ns = time.monotonic_ns()
    observer, port = asyncio.run(trial(tmp_path / "trial"))
    facts = read_rows(tmp_path / "trial" / TCP, TcpFact)
    assert [(fact.what.value, fact.by.value) for fact in facts] == [
        ("syn", "client"), ("syn", "proxy"), ("fin", "client"), ("fin", "proxy"),
    ]  # fmt: skip
    assert begin_ns < facts[0].t_ns < facts[-1].t_ns < time.monotonic_ns()
    recording = read(tmp_path / "trial" / CAPTURE)
    assert recording.brokers == {port: 1}
    assert observer.record.packets == recording.seen == len(recording.packets)
    assert (observer.record.dropped, observer.record.cut, observer.record.unavailable_reason) == (0, 0, None)
    assert sorted(path.name for path in (tmp_path / "trial").iterdir()) == [CAPTURE, f"{TCP}.zst"]
    assert not _capturing()


@pytest.mark.usefixtures("without_right")
def test_a_trial_without_the_right_to_capture_records_the_reason(tmp_path):
    observer, _ = asyncio.run(trial(tmp_path / "trial"))
    assert observer.record.unavailable_reason == LACKS_RIGHT
    assert list((tmp_path / "trial").iterdir()) == []


@pytest.mark.usefixtures("may_capture")
def test_a_killed_capture_is_unavailable_and_fails_nothing(tmp_path):
    async def killed() -> Observer:
        async with observed(tmp_path, addresses(9)) as observer:
            [process] = _capturing()
            process.kill()
        return observer

    assert asyncio.run(killed()).record.unavailable_reason == "it failed: capturing"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("may_capture")
def test_a_capture_that_starts_too_late_is_unavailable(tmp_path):
    async def late() -> Observer:
        async with observed(tmp_path, addresses(9), start_timeout_s=0) as observer:
            assert not _capturing()
        return observer

    assert asyncio.run(late()).record.unavailable_reason == "it did not start within 0 s"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("may_capture")
def test_a_capture_that_does_not_end_leaves_no_files(tmp_path):
    async def endless() -> Observer:
        async with observed(tmp_path, addresses(9), end_timeout_s=0) as observer:
            assert [path.suffix for path in tmp_path.iterdir()] == [".partial"]
        return observer

    assert asyncio.run(endless()).record.unavailable_reason == "it did not end within 0 s"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("may_capture")
def test_the_capture_appears_only_after_its_rows_are_written(tmp_path, monkeypatch):
    # A failure between the packets and the rows cannot be caused from outside.
    monkeypatch.setattr(process, "write_rows", lambda *_: 1 / 0)
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)  # the process captures until its stdin ends
        with pytest.raises(ZeroDivisionError):
            process.main(tmp_path, {9: 1})
    assert not (tmp_path / CAPTURE).exists()


@pytest.mark.usefixtures("may_capture")
def test_an_interrupted_trial_ends_its_capture(tmp_path):
    async def interrupted() -> int:
        begun = asyncio.Event()
        pids = []

        async def run() -> None:
            async with observed(tmp_path, addresses(9)):
                pids.extend(process.pid for process in _capturing())
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(run())
        await begun.wait()
        task.cancel()
        await asyncio.wait({task})
        return pids[0]

    assert not psutil.pid_exists(asyncio.run(interrupted()))


@pytest.mark.usefixtures("may_capture")
def test_files_of_an_earlier_attempt_are_removed(tmp_path):
    for name in (CAPTURE, f"{TCP}.zst", ".0.partial", ".1.partial"):
        (tmp_path / name).write_bytes(b"old")

    async def begun() -> None:
        async with observed(tmp_path, addresses(9)):
            assert not any(path.read_bytes() == b"old" for path in tmp_path.iterdir())

    asyncio.run(begun())
    assert read(tmp_path / CAPTURE).packets == ()
