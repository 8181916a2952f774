"""Trials of hostile programs: each has a clear verdict, and the honest trials after them in the same run are as usual.

No program writes outside the run or leaves a process.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import psutil
import pytest
from msgspec.structs import replace

from harness.adapter import Conversation
from harness.cli.main import call
from harness.judging.completeness import history
from harness.limits import meter
from harness.limits.meter import MIB, REQUEST_BYTES, ROWS, Limit
from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, Plan, TrialSpec, Workload
from harness.planning import own_commands
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.provision.caches import cache_dir
from harness.running import live_trial
from harness.running.trial_runner import Execution
from harness.storage.run_store import RunStore
from harness.trial import patience, script

pytestmark = pytest.mark.jvm

PROGRAMS = Path(__file__).parents[1] / "hostile_client"
HONEST = ClientRef("reference", registry.client("reference").default_version)
LOAD = Workload(records=200, records_per_command=5, interval_ms=10)
EXPORTS = ("results.jsonl", "junit.xml", "summary.md", "findings.json", "outcomes.json")
WORKFLOW_COMMAND = re.compile(r"(?m)^\s*::|##\w*\[")


@dataclass(frozen=True)
class Hostile:
    """A hostile program and what is expected of its trial: its verdict, and a part of the reason.

    ``limits`` are small limits of this trial, by the name in their module. A client that ``sleeps`` never reports a
    result, and the trial waits for it for a short time only.
    """

    name: str
    verdict: str
    code: str
    reason: str
    argv: tuple[str, ...] = ()
    limits: dict[str, Limit] = field(default_factory=dict)
    sleeps: bool = False

    @property
    def client(self) -> str:
        return f"{self.name}@own"

    def fits(self, verdict: TrialVerdict) -> bool:
        """Whether the verdict is the expected one. The reason of a harness-error names the client of the plan."""
        seen, named = (verdict.client, verdict.verdict, verdict.code), f"client {self.client} "
        return (
            seen == (self.client, self.verdict, self.code)
            and self.reason in verdict.reason
            and (self.verdict != "harness-error" or verdict.reason.startswith(named))
        )

    def spec(self, token: Path) -> TrialSpec:
        argv = self.argv or ("-I", "-S", str(PROGRAMS), self.name)
        return planned(own_commands.client((sys.executable, *argv, str(token)), self.name))


def over(name: str, reason: str, *argv: str, **limits: Limit) -> Hostile:
    """Return a program that exceeds a limit."""
    told, sleeps = f"expected at most {reason}", STORES not in argv
    return Hostile(name, "harness-error", "over-limit", told, argv, limits, sleeps)


def harmless(name: str) -> Hostile:
    """Return a program that reports no result for its records, besides what it attacks."""
    return Hostile(name, "fail", "gave-up", "200 records given up")


def asleep(name: str) -> Hostile:
    """Return a program that ends its requests and never reports anything."""
    return Hostile(name, "not-exercised", "nothing-acknowledged", "no record was acknowledged", sleeps=True)


def planned(client: ClientRef) -> TrialSpec:
    trial = make_plan([registry.scenario("produce/calm")], [client], ["local:4.3.1x1"], [1]).trials[0]
    return replace(trial, workload=LOAD)


FILES_AND_WORDS = (
    harmless("removes_its_folder"),
    harmless("plants_links"),
    harmless("is_somebody_else"),
    Hostile("speaks_to_the_terminal", "harness-error", "client-gave-up", "it gave up: \x1b]0;owned\x07: "),
)
STORES = str(PROGRAMS / "stores.py")
REQUESTS = (
    over("announces_large_frames", "67,108,864 bytes in requests that have begun and not ended"),
    asleep("asks_for_millions_of_topics"),
    asleep("speaks_http"),
    over("stores-records", "30,000 records in the topic, got 40,000", STORES, "records"),
    over("stores-bytes", "21,615,616 bytes in the topic, decompressed, values aside", STORES, "bytes"),
    # The rows up to the limit are more evidence than this trial may store. The first limit is the one to report.
    over(
        "asks_without_end",
        "5,000 frames and connections on its lane, got 5,001",
        ROWS=Limit("frames", ROWS.what, 5_000),
        EVIDENCE=Limit("evidence", meter.EVIDENCE.what, 4 * MIB),
    ),
    over(
        "asks-for-bytes",
        "20,000 bytes in its requests, values aside, got 20,006",
        *("-I", "-S", str(PROGRAMS), "asks_without_end"),
        REQUEST_BYTES=Limit("requests", REQUEST_BYTES.what, 20_000),
    ),
)


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(cache_dir()))
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, RunStore]]:
    """Return a function that runs the trials of hostile programs and then an honest one, with a user's command."""
    one = Execution.run

    def carry_out(programs: tuple[Hostile, ...]) -> tuple[int, RunStore]:
        trials = [each.spec(tmp_path) for each in programs]
        own = {spec.trial: each for spec, each in zip(trials, programs, strict=True)}

        async def with_limits(execution: Execution, index: int, spec: TrialSpec, *place: Any) -> TrialVerdict:
            with pytest.MonkeyPatch.context() as patch:
                if spec.trial in own:
                    shorten(patch, own[spec.trial])
                return await one(execution, index, spec, *place)

        # The campaign makes its trials itself, and the usual limits and times are too large for a test.
        monkeypatch.setattr(Execution, "run", with_limits)
        plan = Plan(1, (*trials, planned(HONEST)))
        (tmp_path / "plan.json").write_bytes(msgspec.json.encode(plan))
        code = call(
            ["replay", str(tmp_path / "plan.json"), "--allow-command", "-j", "1", "--out-dir", str(tmp_path)]
        )
        return code, RunStore.open(tmp_path)

    return carry_out


def shorten(patch: pytest.MonkeyPatch, hostile: Hostile) -> None:
    for name, limit in hostile.limits.items():
        patch.setattr(live_trial if hasattr(live_trial, name) else meter, name, limit)
    if hostile.sleeps:
        patch.setattr(script, "WARM_UP_MS", 2_000)
        patch.setattr(live_trial, "flush_timeout_ms", lambda _: 0)
        patch.setattr(patience, "MOST_WAIT_MS", 0)
        for module in (script, history):
            patch.setattr(module, "CLOSE_TIMEOUT_MS", 0)
        defaults = Conversation.__init__.__kwdefaults__
        assert defaults is not None
        patch.setitem(defaults, "grace_s", 0.5)


def remaining(token: Path) -> list[str]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                found += [" ".join(process.cmdline())] if str(token) in process.cmdline() else []
    return found


@pytest.mark.parametrize("programs", [FILES_AND_WORDS, REQUESTS], ids=["files-and-words", "requests"])
def test_hostile_trials_do_not_affect_an_honest_one(run, own_home, tmp_path, capsys, programs):
    code, store = run(programs)

    out, err = capsys.readouterr()
    *hostile, honest = store.verdicts()
    assert (honest.client, honest.verdict, honest.code) == (str(HONEST), "pass", "held"), honest.reason
    told = [
        (verdict, each) for verdict, each in zip(hostile, programs, strict=True) if not each.fits(verdict)
    ]
    assert [f"{each.client} {each.verdict} {each.code}: {each.reason}" for each, _ in told] == []
    summary = (store.folder / "summary.md").read_text()
    assert [
        each.name for each in programs if not (each.client in err and f"`{each.client}: " in summary)
    ] == []
    assert code == 3
    assert_exported(store, len(programs) + 1)
    assert all(line.isprintable() for line in (out + err).split("\n"))
    assert not WORKFLOW_COMMAND.search(out + err)
    assert list(own_home.iterdir()) == [] and remaining(tmp_path) == []
    outside = {path.name for path in tmp_path.iterdir()} - {store.folder.name}
    assert outside == {"home", "plan.json", "latest"}


def assert_exported(store: RunStore, trials: int) -> None:
    written = {name: (store.folder / name).read_text() for name in EXPORTS}
    lines = [json.loads(line) for line in written["results.jsonl"].splitlines()]
    assert len(lines) == trials == len({line["trial"] for line in lines})
    assert len(ET.fromstring(written["junit.xml"]).findall(".//testcase")) == trials
    json.loads(written["findings.json"])
    json.loads(written["outcomes.json"])
    assert all(line.isprintable() for line in written["summary.md"].split("\n"))
