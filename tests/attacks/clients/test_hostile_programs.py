"""Clients that attack the harness: each attack ends in a one-message error, and all processes of the client end."""

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
#: Longer than any error message of the harness, and shorter than the output of the clients.
SENTENCE_CHARS = 9_000
#: Attacks that print nothing after they have begun.
SILENT = frozenset({"sleeps", "stops_itself", "closes_its_ends"})
#: Attacks whose process does not end when it is asked to.
UNRESPONSIVE = SILENT | {"stops_its_keeper"}
#: How often, and at which interval, to check whether an attack is done.
TURNS, TURN_S = 1_200, 0.1


class Attacked:
    """The result of one conversation: its error, its events and the trace file."""

    def __init__(self, folder: Path) -> None:
        self.events: list[Any] = []
        self.error: KafkaTrialError | None = None
        self.trace: tuple[dict[str, Any], ...] = ()
        self.own = folder / "trial" / "client"
        self.log = folder / "trial" / "client.log"

    @property
    def message(self) -> str:
        return str(self.error)


@pytest.fixture
def attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Attacked]:
    """Return a function that runs one hostile program: ``attack(NAME)`` sends it one record and closes it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()

    async def life(name: str, attacked: Attacked, **env: str) -> None:
        attacked.own.mkdir(parents=True)
        meter = Meter("hostile", 1)
        launch = Launch(
            (sys.executable, "-I", "-S", str(PROGRAM), name, str(attacked.own)),
            {"KAFKA_TRIAL_TRACE": str(attacked.own / "trace.jsonl"), **env},
        )
        grace_s = 0.2 if name in UNRESPONSIVE else 60.0
        async with Conversation(
            launch, attacked.log, attacked.events.append, grace_s=grace_s, meter=meter
        ) as client:
            await client.startup()
            await client.configure("r", "p1", {"acks": "all"})
            await client.load(Produce(0, "t", 0, [None], ["v"]))
            for _ in range(TURNS):
                if await client.until(lambda: is_done(name, client, attacked.log), TURN_S):
                    break
            await client.close(1)
        attacked.trace = read(attacked.own / "trace.jsonl", meter)

    def run(name: str, **env: str) -> Attacked:
        attacked = Attacked(tmp_path)
        try:
            asyncio.run(life(name, attacked, **env))
        except KafkaTrialError as error:
            attacked.error = error
        return attacked

    return run


def is_done(name: str, client: Conversation, log: Path) -> bool:
    if name in SILENT:
        return log.exists() and BEGINS in log.read_bytes()
    return client.settled.is_set() or too_long(log)


def too_long(log: Path) -> bool:
    return log.exists() and log.stat().st_size > LOG_BYTES.base


def remaining(attacked: Attacked) -> list[psutil.Process]:
    """Return the processes whose command line contains the folder of the test, without zombies."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if str(attacked.own) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@pytest.mark.parametrize(
    ("name", "message"),
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
def test_attack_ends_in_one_sentence_and_leaves_no_process(attack, name, message):
    attacked = attack(name)

    assert isinstance(attacked.error, ClientBroken | ConfigRefused), attacked.message
    assert message in attacked.message and "\n" not in attacked.message.replace("::error", "")
    assert len(attacked.message) < SENTENCE_CHARS
    assert remaining(attacked) == []


@pytest.mark.parametrize("name", ["sleeps", "stops_itself", "ignores_signals", "stops_its_keeper"])
def test_unresponsive_client_is_killed(attack, name):
    attacked = attack(name)

    assert remaining(attacked) == []


@pytest.mark.parametrize("kept_by", ["namespace", "subreaper"])
@pytest.mark.parametrize(
    "name", ["leaves_a_daemon", "forks_on_and_on", "renames_itself", "doubles", "kills_its_keeper"]
)
def test_no_descendant_outlives_its_client(attack, monkeypatch, name, kept_by):
    start = partial(kept_process.start, is_namespaced=kept_by == "namespace")
    # The machine determines the kind of keeper; the test tries both on every machine.
    monkeypatch.setattr(kept_process, "start", start)

    attacked = attack(name)

    assert remaining(attacked) == []


def test_long_record_error_is_truncated(attack):
    attacked = attack("errors_at_length")

    (error,) = next(event.error for event in attacked.events if getattr(event, "outcome", None))
    assert error.endswith("… (95,904 more characters)") and len(error) < 4_200


def test_sparse_trace_over_size_limit_is_refused(attack):
    attacked = attack("traces_a_hole")

    assert "209,715,200" in attacked.message


def test_long_string_in_trace_is_truncated(attack):
    attacked = attack("traces_at_length")

    assert attacked.error is None and attacked.trace[0]["a"].endswith("more characters)")


def test_client_does_not_inherit_secrets(attack, monkeypatch):
    monkeypatch.setenv(SECRET, "hunter2")
    attacked = attack("shows_its_environment", MINE="1")

    (row,) = attacked.trace
    assert SECRET not in row["environment"]
    assert {"PATH", "HOME", "MINE", "KAFKA_TRIAL_TRACE", "KAFKA_TRIAL_OWNER"} <= row["environment"].keys()


def test_stderr_log_is_bounded(attack):
    attacked = attack("floods_stderr")

    assert too_long(attacked.log) and attacked.log.stat().st_size <= 256 * 2**20 + 8_192
    assert remaining(attacked) == []
