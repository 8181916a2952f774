"""A run in which hostile programs are members of groups: an honest consumer beside them keeps its verdict."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil
import pytest

from harness.cli.main import call
from harness.files import zstd
from harness.model.rows import Frame, TrialVerdict
from harness.model.spec import ClientRef, Plan
from harness.planning import own_commands
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.storage.run_store import RunStore
from harness.witness.consumer_contents import MAX_PARTS, MAX_TEXT

pytestmark = [pytest.mark.jvm, pytest.mark.extended]

PROGRAM = Path(__file__).parents[1] / "hostile_client"
EXPORTS = ("results.jsonl", "junit.xml", "summary.md", "findings.json")
HONEST = "reference"
#: Program -> the verdict of its trial, and a part of a reason. The slowest one is first, and runs beside all others.
PROGRAMS = {
    "never_closes": ("fail", "foreign-record"),
    "consumes_what_never_was": ("fail", "foreign-record"),
    "assigns_millions_of_partitions": ("harness-error", "at most 1,000 entries in partitions, got 250,000"),
    "commits_millions_of_offsets": ("harness-error", "it gave up: Committed"),
    "joins_as_thousands": ("harness-error", "it gave up: Joined"),
    "errors_without_end": ("harness-error", "lines on stdout, got"),
}
#: Longer than any error message of the harness, and shorter than the output of the clients.
SENTENCE_CHARS = 9_000


class Ended:
    """A finished run: its exit code, the folder of the test, and the verdicts by the name of the client."""

    def __init__(self, code: int, folder: Path) -> None:
        self.code, self.folder = code, folder
        self.store = RunStore.open(folder / "runs")
        self.verdicts = {each.client.partition("@")[0]: each for each in self.store.verdicts()}

    def verdict(self, name: str) -> TrialVerdict:
        return self.verdicts[name]

    def frames(self, name: str) -> tuple[Frame, ...]:
        return self.store.read_evidence(self.verdict(name).trial).frames


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Run each hostile program in a trial of its own, two at a time, and an honest client among them."""
    folder = tmp_path_factory.mktemp("hostile")
    clients = [
        own_commands.client((sys.executable, "-I", "-S", str(PROGRAM), name, str(folder)), name)
        for name in PROGRAMS
    ]
    clients.insert(2, ClientRef(HONEST, registry.client(HONEST).default_version))
    scenario = registry.scenario("consume/disconnect")
    trials = [make_plan([scenario], [ref], ["local:4.3.1x1"], [1]).trials[0] for ref in clients]
    plan = folder / "plan.json"
    plan.write_bytes(msgspec.json.encode(Plan(1, tuple(trials))))
    out = ["--out-dir", str(folder / "runs"), "-q"]
    return Ended(call(["replay", str(plan), "--allow-command", "-j", "2", *out]), folder)


def test_honest_consumer_passes_and_run_is_exported(ended):
    assert ended.verdict(HONEST).verdict == "pass"
    assert ended.code == 3 and len(ended.verdicts) == len(PROGRAMS) + 1
    assert all((ended.store.folder / name).stat().st_size for name in EXPORTS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_hostile_consumer_has_a_verdict_with_a_reason_of_one_line(ended, name):
    verdict, reason = PROGRAMS[name]
    found = ended.verdict(name)
    told = [found.reason, *(each.anomaly for row in found.requirements for each in row.findings)]
    assert found.verdict == verdict and any(reason in each for each in told), told
    assert "\n" not in found.reason and len(found.reason) < SENTENCE_CHARS


def test_nothing_is_left_running_and_nothing_is_written_outside_of_the_run(ended):
    left = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if str(ended.folder) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                left.append(process)
    assert left == []
    assert {path.name for path in ended.folder.iterdir()} == {"plan.json", "runs"}


@pytest.mark.parametrize("name", ["commits_millions_of_offsets", "joins_as_thousands"])
def test_evidence_of_hostile_requests_is_bounded(ended, name):
    frames = ended.frames(name)
    attack = {"commits_millions_of_offsets": "OffsetCommit", "joins_as_thousands": "JoinGroup"}[name]
    assert any(row.api == attack for row in frames)
    assert all(len(row.offsets) <= MAX_PARTS for row in frames)
    ids = [part.member_id for row in frames for part in row.members if part.member_id]
    assert all(len(each) <= MAX_TEXT + 1 for each in ids)


def test_secrets_and_escapes_of_errors_are_in_no_file(ended):
    for path in ended.store.folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            data = zstd.unpacked(data) if path.suffix == zstd.SUFFIX else data
            assert b"hunter2-of-a-consumer" not in data and b"\x1b" not in data, path
