"""A client that cannot be installed: the run records it, and every output names it with the reason."""

from __future__ import annotations

import json

import pytest

from harness.cli import run_plan
from harness.cli.options import Options
from harness.model.errors import EnvironmentProblem
from harness.model.spec import ClientRef, Plan
from harness.running.install import Installed
from harness.storage.run_store import LeftOut, RunStore

PROBLEM = EnvironmentProblem("no-wheel", "{name} has no wheel", name="c")


@pytest.fixture
def carried_out(monkeypatch, tmp_path, spec, verdict, capsys):
    """Return a function that carries out a run of these verdicts, and returns its store, exit code and JSON."""

    def carry_out(*verdicts, lacking=()):
        store = RunStore.create(
            tmp_path, run_plan.new_record(Plan(7, tuple(map(spec, verdicts))), Options(1))
        )

        def judged(*_):
            for each in verdicts:
                store.begin(each.trial)
                store.write_verdict(each)
            return None, "completed"

        monkeypatch.setattr(run_plan, "_run", judged)
        installed = Installed({}, dict.fromkeys(lacking, PROBLEM))
        code = run_plan.carry_out(store, installed, Options(1, as_json=True))
        return store, code, json.loads(capsys.readouterr().out)

    return carry_out


def test_it_stands_in_the_record_the_summary_junit_and_json(carried_out, verdict):
    store, code, document = carried_out(verdict(), lacking=[ClientRef("c", "9")])
    assert code == 3
    assert store.record.left_out == (LeftOut("c@9", "no-wheel", "c has no wheel"),)
    assert document["left_out"] == [{"client": "c@9", "code": "no-wheel", "reason": "c has no wheel"}]
    assert all(b"c@9" in store.export(name) for name in ("junit.xml", "summary.md", "findings.json"))


def test_a_run_that_is_resumed_with_the_client_names_it_no_longer(carried_out, verdict):
    store, _, _ = carried_out(verdict(), lacking=[ClientRef("c", "9")])
    run_plan.carry_out(store, Installed({}, {}), Options(1))
    assert store.record.left_out == () and b"c@9" not in store.export("summary.md")


def test_a_plan_in_which_nothing_was_judged_ends_with_4(carried_out, verdict):
    assert carried_out(verdict(verdict="unsupported"))[1] == 4
