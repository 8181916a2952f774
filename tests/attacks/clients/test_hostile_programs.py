"""Clients that attack the harness through what they say, leave and do: each is told in one sentence, and is gone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.adapter import ConfigRefused, Conversation, kept_process
from harness.adapter.trace_file import read
from harness.limits.meter import LOG_BYTES, Meter
from harness.model.errors import ClientBroken, KafkaTrialError
from harness.plugins.client import Launch
from harness.workloads.produce.commands import Produce

pytestmark = pytest.mark.long("starts and ends a process for each attack")

BEGINS = b"it begins"
PROGRAM = Path(__file__).parents[1] / "hostile_client"
SECRET = "AWS_SECRET_ACCESS_KEY"
#: Far longer than any sentence of ours, and far shorter than what the clients say.
SENTENCE_CHARS = 9_000
#: Who says nothing after it has begun.
SILENT = frozenset({"sleeps", "stops_itself", "closes_its_ends"})
#: Who does not end when it is asked to.
DEAF = SILENT | {"stops_its_keeper"}
#: So many looks at what a program leaves: long enough for any machine.
TURNS, TURN_S = 1_200, 0.1


class Attacked:
    """What became of one conversation: the error that ended it, the events, and the trace that was left."""

    def __init__(self, folder: Path) -> None:
        self.events: list[Any] = []
        self.error: KafkaTrialError | None = None
        self.trace: tuple[dict[str, Any], ...] = ()
        self.own = folder / "trial" / "client"
        self.log = folder / "trial" / "client.log"

    @property
    def sentence(self) -> str:
        return str(self.error)


@pytest.fixture
def attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Attacked]:
    """``attack(NAME)``: one life of the program, with a record and a close."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()

    async def life(name: str, told: Attacked, **env: str) -> None:
        told.own.mkdir(parents=True)
        meter = Meter("hostile", 1)
        launch = Launch(
            (sys.executable, "-I", "-S", str(PROGRAM), name, str(told.own)),
            {"KAFKA_TRIAL_TRACE": str(told.own / "trace.jsonl"), **env},
        )
        grace_s = 0.2 if name in DEAF else 60.0
        async with Conversation(launch, told.log, told.events.append, grace_s=grace_s, meter=meter) as client:
            await client.startup()
            await client.configure("r", "p1", {"acks": "all"})
            await client.load(Produce(0, "t", 0, [None], ["v"]))
            for _ in range(TURNS):
                if await client.until(lambda: is_done(name, client, told.log), TURN_S):
                    break
            await client.close(1)
        told.trace = read(told.own / "trace.jsonl", meter)

    def run(name: str, **env: str) -> Attacked:
        told = Attacked(tmp_path)
        try:
            asyncio.run(life(name, told, **env))
        except KafkaTrialError as error:
            told.error = error
        return told

    return run


def is_done(name: str, client: Conversation, log: Path) -> bool:
    if name in SILENT:
        return log.exists() and BEGINS in log.read_bytes()
    return client.settled.is_set() or too_long(log)


def too_long(log: Path) -> bool:
    return log.exists() and log.stat().st_size > LOG_BYTES.base


def left(told: Attacked) -> list[psutil.Process]:
    """Whatever is still there of a program of ours: its command line ends with the folder of the test."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if str(told.own) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("floods_lines", "lines on stdout, got"),
        ("never_ends_its_line", "expected lines of at most 8,388,608 bytes, got a longer one"),
        ("nests_deep", "it is nested more than 32 levels deep"),
        ("names_many_events", "got more than 100 other names"),
        ("names_long_events", "bytes on stdout, got"),
        ("speaks_latin_1", "byte 42 of the line, 0xe9, is not UTF-8; its line 3 is '{"),
        ("speaks_half_a_surrogate", "expected a JSON object with a name and a seq"),
        ("says_thirty_megabytes", "expected lines of at most 8,388,608 bytes"),
        ("says_seven_megabytes", "more characters)"),
        ("refuses_at_length", "more characters)"),
        ("features_without_end", "expected at most 1,000 entries in features, got 100,000"),
        ("applies_without_end", "expected at most 1,000 entries in not_set, got 100,000"),
        ("offsets_beyond_int64", "does not fit the contract"),
        ("offsets_beyond_any", "does not fit the contract"),
        ("partitions_beyond_int64", "does not fit the contract"),
        ("columns_without_end", "in column invoke_ns of op_complete"),
        ("traces_into_a_pipe", "cannot be read: it is a pipe, not a regular file"),
        ("traces_through_a_link", "cannot be read: it is a link, not a regular file"),
        ("traces_into_a_folder", "cannot be read: it is a folder, not a regular file"),
        ("traces_nests", "nested more than 32 levels deep"),
        ("traces_a_little_deep", "nested more than 32 levels deep"),
        ("traces_no_text", "not UTF-8"),
        ("dies_of_a_signal", "it ended by signal 11"),
        ("fills_the_disk", "File too large"),
        ("kills_everybody", "it ended by signal 9"),
        ("pipes_its_log", "expected shutdown_complete, it exited with 3"),
        ("closes_its_ends", "broke the contract: expected"),
    ],
)
def test_what_a_hostile_client_does_is_told_in_one_sentence_and_it_is_gone(attack, name, sentence):
    told = attack(name)

    assert isinstance(told.error, ClientBroken | ConfigRefused), told.sentence
    assert sentence in told.sentence and "\n" not in told.sentence.replace("::error", "")
    assert len(told.sentence) < SENTENCE_CHARS
    assert left(told) == []


@pytest.mark.parametrize("name", ["sleeps", "stops_itself", "ignores_signals", "stops_its_keeper"])
def test_who_does_not_react_is_ended_and_nothing_is_left(attack, name):
    told = attack(name)

    assert left(told) == []


@pytest.mark.parametrize("kept_by", ["namespace", "subreaper"])
@pytest.mark.parametrize(
    "name", ["leaves_a_daemon", "forks_on_and_on", "renames_itself", "doubles", "kills_its_keeper"]
)
def test_no_descendant_outlives_its_client(attack, monkeypatch, name, kept_by):
    start = partial(kept_process.start, is_namespaced=kept_by == "namespace")
    monkeypatch.setattr(kept_process, "start", start)

    told = attack(name)

    assert left(told) == []


def test_a_long_error_is_cut_and_says_so(attack):
    told = attack("errors_at_length")

    (error,) = next(event.error for event in told.events if getattr(event, "outcome", None))
    assert error.endswith("… (95,904 more characters)") and len(error) < 4_200


def test_a_trace_that_is_a_hole_is_not_read(attack):
    told = attack("traces_a_hole")

    assert "209,715,200" in told.sentence


def test_what_is_long_in_a_trace_is_cut(attack):
    told = attack("traces_at_length")

    assert told.error is None and told.trace[0]["a"].endswith("more characters)")


def test_a_client_sees_no_secret_of_ours(attack, monkeypatch):
    monkeypatch.setenv(SECRET, "hunter2")
    told = attack("shows_its_environment", MINE="1")

    (row,) = told.trace
    assert SECRET not in row["environment"]
    assert {"PATH", "HOME", "MINE", "KAFKA_TRIAL_TRACE", "KAFKA_TRIAL_OWNER"} <= row["environment"].keys()


def test_stderr_is_bounded(attack):
    told = attack("floods_stderr")

    assert too_long(told.log) and told.log.stat().st_size <= 256 * 2**20 + 8_192
    assert left(told) == []
