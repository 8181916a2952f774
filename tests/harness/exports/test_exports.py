"""The exports of a run: Markdown of limited size, and JSON with the same contents."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import exports
from harness.cli.output import run_document
from harness.exports import jsonl, markdown
from harness.exports.markdown import summary
from harness.judging.fingerprint import causes
from harness.model.errors import EnvironmentProblem
from harness.model.evidence import Evidence
from harness.model.rows import Ending, Phases, TrialRecord, TrialVerdict
from harness.model.spec import ClientRef, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.storage.run_store import LeftOut, RunRecord, RunStore
from testkit.codes import raises_code

RECORD = RunRecord("run-1", "2026-03-01T10:20:30Z", Plan(7, ()), 1, {}, ["kafka-trial", "run"])
RUN = Path("runs/run-1")


def listed(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ") and "kafka-trial" not in line]


@given(st.text())
def test_any_text_leaves_tables_and_lists_intact(verdict, words) -> None:
    text = summary(RECORD, [verdict("lost", client=words, reason=words, message=words)], RUN)
    rows = [line for line in text.split("\n") if line.startswith("|")]
    outcomes = 6 if words else 5
    assert [row.count("|") for row in rows] == [*[3] * 3, *[outcomes] * 3, *[5] * 3]


def test_causes_are_listed_from_the_worst_with_their_replay_commands(verdict) -> None:
    trials = [
        verdict(seed=1),
        verdict(seed=2, verdict="inconclusive", reason="stood still"),
        *(verdict("lost", seed=seed, hit=["dropped_response"]) for seed in (3, 4)),
        verdict(seed=5, verdict="harness-error", reason="no broker"),
        verdict(seed=6, verdict="expected-fail", reason="known: so"),
    ]
    text = summary(RECORD, trials, RUN, "All agree.")
    [cause] = [cause for cause in causes(trials) if cause.verdict == "fail"]
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# kafka-trial: run-1",
        "## Findings",
        "## Nothing proven",
        "## Known failures",
        "## Clients",
        "## Outcomes",
        "## Matrix",
        "## Next",
    ]
    assert listed(text)[0] == (
        "- ✗ fail `c@1: lost after dropped response`: 3 records (2 trials, 1 scenario). MUST R-lost. "
        f"Fingerprint {cause.fingerprint}"
    )
    assert f"  - smallest: `kafka-trial replay {RUN}/trials/{cause.smallest}`" in text
    assert "⚠ harness-error 1, ✗ fail 2, ? inconclusive 1, x expected-fail 1, ✔ pass 1. All agree." in text
    assert f"`kafka-trial baseline update {RUN} --file known.toml`" in text


def test_a_summary_names_why_the_run_ended_early(verdict) -> None:
    spec = TrialSpec("t", ClientRef("c", "1"), "local:x", "s", Guarantee.IDEMPOTENT, 1, Workload(), (), {})
    record = msgspec.structs.replace(RECORD, plan=Plan(1, (spec, spec)), stop_reason="interrupted")
    assert "1 of 2 planned trials (interrupted): ✔ pass 1." in summary(record, [verdict()], RUN)


def test_a_client_that_was_left_out_is_named_with_the_reason(verdict) -> None:
    left_out = (LeftOut("d@2", "no-wheel", "no `wheel` here"),)
    record = msgspec.structs.replace(RECORD, left_out=left_out)
    text = summary(record, [verdict()], RUN)
    assert "## Clients left out\n\n- `d@2` could not be installed: `no " in text and "(`no-wheel`)" in text
    told = [{"client": "d@2", "code": "no-wheel", "reason": "no `wheel` here"}]
    assert json.loads(jsonl.findings(record, [], RUN))["left_out"] == told
    assert json.loads(msgspec.json.encode(run_document(RUN, record, [])))["left_out"] == told


def test_a_cell_counts_its_trials_or_is_not_run(verdict) -> None:
    other = [verdict(client="d@1", scenario="produce/latency", seed=seed) for seed in (1, 2)]
    text = summary(RECORD, [verdict(), *other], RUN)
    assert "| local:4.3.1x1 | produce/calm | idempotent | ✔ pass | not run |" in text
    assert "| local:4.3.1x1 | produce/latency | idempotent | not run | ✔ pass 2 |" in text


def test_only_the_worst_causes_and_rows_are_listed(verdict) -> None:
    causes_of_their_own = [
        verdict("lost", client=f"c@{n}", scenario=f"z/{n}", seed=n) for n in range(markdown.MAX_CAUSES + 5)
    ]
    passing = [verdict(scenario=f"a/{n}") for n in range(markdown.MAX_ROWS)]
    text = summary(RECORD, [*passing, *causes_of_their_own], RUN)
    assert len(listed(text)) == markdown.MAX_CAUSES + 1
    assert "- and 5 more" in text
    assert f"and {markdown.MAX_CAUSES + 5} more rows, none worse than these" in text
    assert (
        "z/0" in text
        and len([line for line in text.splitlines() if line.startswith("| local")]) == markdown.MAX_ROWS
    )


def test_a_summary_has_a_limited_size(verdict) -> None:
    many = [
        *(verdict("lost", client=f"{'client' * 50}{n}@1", message="x" * 5_000) for n in range(300)),
        *(verdict("lost", scenario=f"{'s' * 90}/{n}") for n in range(markdown.MAX_ROWS)),
    ]
    text = summary(RECORD, many, RUN)
    assert len(text.encode()) < 2**19
    assert "more lines" in text.splitlines()[-1]


def test_json_exports_have_the_verdicts_and_findings(verdict) -> None:
    verdicts = [verdict("lost", seed=1), verdict(seed=2)]
    assert msgspec.json.Decoder(TrialVerdict).decode_lines(jsonl.results(verdicts)) == verdicts
    told = json.loads(jsonl.findings(RECORD, verdicts, RUN))
    assert [each["anomaly"] for each in told["findings"]] == ["lost"]
    assert (
        json.loads(msgspec.json.encode(run_document(RUN, RECORD, verdicts)))["findings"] == told["findings"]
    )


@pytest.fixture
def store(tmp_path, verdict) -> RunStore:
    """Return a run of one trial whose phases from load to end took 2.5 s."""
    trial = verdict("lost")
    spec = TrialSpec(
        trial.trial,
        ClientRef("c", "1"),
        trial.broker,
        trial.scenario,
        Guarantee.IDEMPOTENT,
        1,
        Workload(),
        (),
        {},
    )
    store = RunStore.create(tmp_path, msgspec.structs.replace(RECORD, plan=Plan(1, (spec,))))
    phases = Phases(1_000_000_000, 2_000_000_000, 3_000_000_000, 3_500_000_000)
    store.write_evidence(
        Evidence(TrialRecord(spec, "run-1", "t", 0, phases, Ending.COMPLETE), (), (), (), ())
    )
    store.write_verdict(trial)
    return store


def test_all_exports_are_written_into_the_run_or_a_given_folder(store, tmp_path) -> None:
    verdicts = list(store.verdicts())
    exports.write(store, verdicts)
    exports.write(store, verdicts, tmp_path / "else", "All agree.")
    names = {exports.RESULTS, exports.JUNIT, exports.SUMMARY, exports.FINDINGS, exports.OUTCOMES}
    assert names <= {path.name for path in store.folder.iterdir()}
    assert names == {path.name for path in (tmp_path / "else").iterdir()}
    assert "All agree." in (tmp_path / "else" / exports.SUMMARY).read_text()
    assert 'time="2.500"' in (store.folder / exports.JUNIT).read_text()
    assert f"replay {store.folder}" in (tmp_path / "else" / exports.SUMMARY).read_text()


def test_an_unwritable_folder_is_an_error(store, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with raises_code(EnvironmentProblem, "cannot-write"):
        exports.write(store, list(store.verdicts()), tmp_path / "file")
