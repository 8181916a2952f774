"""Two runs compared: every trial is in exactly one class, and only equal trials are compared."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.cli.main import call
from harness.judging.compare import VerdictChange, compare, side, versions_of
from harness.model.spec import AtTime, FaultSpec, Workload


@pytest.fixture(scope="session")
def run(spec):
    """Return a function that makes a run of these verdicts; ``values`` are fields of its specs."""

    def made(*verdicts, **values):
        return side([spec(verdict, **values) for verdict in verdicts], verdicts)

    return made


def changes(old, new) -> list[str]:
    return [each.change for each in compare(old, new)]


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("pass", "fail", "regression"),
        ("expected-fail", "fail", "changed"),
        ("inconclusive", "fail", "regression"),
        ("unexpected-pass", "fail", "regression"),
        ("fail", "pass", "fixed"),
        ("expected-fail", "pass", "fixed"),
        ("expected-fail", "unexpected-pass", "fixed"),
        ("fail", "expected-fail", "changed"),
        ("fail", "inconclusive", "changed"),
        ("pass", "expected-fail", "changed"),
        ("pass", "not-exercised", "changed"),
        ("harness-error", "pass", "changed"),
        ("pass", "pass", "same"),
        ("fail", "fail", "same"),
        ("differs", "differs", "same"),
        ("pass", "differs", "changed"),
        ("differs", "fail", "regression"),
        ("fail", "differs", "fixed"),
        ("inconclusive", "inconclusive", "same"),
    ],
)
def test_each_pair_of_verdicts_has_its_change(verdict, run, before, after, change) -> None:
    old, new = (replace(verdict(reason="so"), verdict=word) for word in (before, after))
    assert changes(run(old), run(new)) == [change]


def test_another_code_or_name_is_a_change_and_other_numbers_are_not(verdict, run) -> None:
    old = verdict("lost", message="3 records")
    assert changes(run(old), run(verdict("lost", message="77 records"))) == ["same"]
    assert changes(run(old), run(verdict("duplicate", message="3 records"))) == ["changed"]
    assert changes(run(old), run(verdict("lost", message="in other words"))) == ["same"]
    numbers = [verdict("lost", params={"count": count}) for count in (3, 77)]
    assert changes(run(numbers[0]), run(numbers[1])) == ["same"]
    named = [verdict("lost", params={"errors": names}) for names in (("A_B", "C_D"), ("C_D",), ("E_F",))]
    assert changes(run(named[0]), run(named[1])) == ["same"]
    assert changes(run(named[1]), run(named[2])) == ["changed"]
    stood = [verdict(verdict="inconclusive", code=code) for code in ("client-stalled", "broker-stalled")]
    assert changes(run(stood[0]), run(stood[1])) == ["changed"]
    assert changes(run(verdict(reason="9 held")), run(verdict(reason="one held"))) == ["same"]


def test_an_unknown_failure_beside_a_known_one_is_a_regression(verdict, run) -> None:
    old = replace(verdict("lost"), verdict="expected-fail", reason="known: so")
    assert changes(run(old), run(verdict("lost"))) == ["changed"]
    assert changes(run(old), run(verdict("lost", "duplicate"))) == ["regression"]
    assert changes(run(verdict("lost")), run(verdict("lost", "duplicate"))) == ["changed"]


def test_two_versions_are_compared_if_each_run_has_one_only(verdict, run) -> None:
    old, new = run(verdict(client="c@1")), run(verdict("lost", client="c@2"))
    assert changes(old, new) == ["regression"]
    assert versions_of(old) == {"c": ["1"]}
    both = run(verdict(client="c@1"), verdict("lost", client="c@2"))
    assert changes(old, both) == ["appeared", "same"]
    assert changes(both, new) == ["disappeared", "same"]


FAULT = FaultSpec("latency", AtTime(5), 100)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"faults": (FAULT,)}, "not with the same faults"),
        ({"workload": Workload(records=3)}, "not with the same workload"),
        ({"config": {"acks": "1"}, "faults": (FAULT,)}, "not with the same faults and configuration"),
    ],
)
def test_trials_with_different_specs_are_not_comparable(verdict, run, values, why) -> None:
    [found] = compare(run(verdict()), run(verdict("lost"), **values))
    assert (found.change, found.why) == ("not-comparable", why)


def test_trials_on_different_brokers_are_not_comparable(verdict, run) -> None:
    old, new = verdict(broker="local:1"), verdict("lost", broker="local:2")
    [found] = compare(run(old), run(new))
    assert (found.change, found.why) == ("not-comparable", "on local:1 and on local:2")
    assert changes(run(old), run(old, new)) == ["appeared", "same"]


@pytest.mark.parametrize(
    "part", [{"seed": 2}, {"variant": "v"}, {"guarantee": "at-least-once"}, {"scenario": "s/t"}]
)
def test_only_the_same_trial_is_compared(verdict, run, part) -> None:
    assert changes(run(verdict()), run(verdict("lost", **part))) == ["appeared", "disappeared"]


def test_one_failing_attempt_is_a_regression(verdict, run) -> None:
    new = [verdict(*(["lost"] if attempt == 2 else []), attempt=attempt) for attempt in (1, 2, 3)]
    [found] = compare(run(verdict()), run(*new))
    assert (found.change, str(found.old), str(found.new)) == ("regression", "pass", "fail in 1 of 3")
    assert found.reason == "lost: 3 records"


def some_fail(verdict, failing: set[int], of: int = 24):
    return [verdict(*(["lost"] if seed in failing else []), seed=seed) for seed in range(of)]


def test_a_similar_rate_of_failures_in_both_runs_is_flaky(verdict, run) -> None:
    old, new = run(*some_fail(verdict, {1, 2, 3})), run(*some_fail(verdict, {3, 4, 5, 6}))
    assert Counter(changes(old, new)) == {"flaky": 5, "same": 19}


def test_a_much_higher_rate_of_failures_is_a_regression(verdict, run) -> None:
    old, new = run(*some_fail(verdict, {1})), run(*some_fail(verdict, set(range(2, 24))))
    assert Counter(changes(old, new)) == {"regression": 22, "fixed": 1, "same": 1}


def test_a_first_failure_is_not_flaky(verdict, run) -> None:
    assert Counter(changes(run(*some_fail(verdict, set())), run(*some_fail(verdict, {7})))) == {
        "regression": 1,
        "same": 23,
    }


def test_attempts_of_one_seed_can_be_flaky(verdict, run) -> None:
    def tried(*failing: int):
        return run(
            *(
                verdict(*(["lost"] if each in failing else []), seed=each // 3, attempt=each % 3)
                for each in range(9)
            )
        )

    assert Counter(changes(tried(0, 4), tried(1, 8))) == {"flaky": 2, "same": 1}


TRIALS = st.lists(
    st.tuples(
        st.sampled_from(["c@1", "c@2", "d@1"]),
        st.sampled_from(["produce/calm", "frame/torn"]),
        st.integers(1, 2),
        st.sampled_from(["local:1", "local:2"]),
        st.sampled_from(["pass", "fail", "inconclusive", "expected-fail"]),
    ),
    max_size=8,
    unique_by=lambda each: each[:4],
)


@pytest.fixture(scope="session")
def drawn_run(verdict, run):
    def made(drawn):
        return run(
            *(
                verdict(
                    *(["lost"] if word == "fail" else []),
                    client=client,
                    scenario=scenario,
                    seed=seed,
                    broker=broker,
                )
                if word in ("pass", "fail")
                else verdict(
                    verdict=word, client=client, scenario=scenario, seed=seed, broker=broker, reason="so"
                )
                for client, scenario, seed, broker, word in drawn
            )
        )

    return made


@given(TRIALS)
def test_a_run_is_the_same_as_itself(drawn_run, drawn) -> None:
    assert set(changes(drawn_run(drawn), drawn_run(drawn))) <= {"same"}


@given(TRIALS, TRIALS, st.randoms(use_true_random=False))
def test_every_trial_is_reported_once_in_any_order(drawn_run, before, after, random) -> None:
    old, new = drawn_run(before), drawn_run(after)
    found = compare(old, new)
    assert Counter(each.old.trial for each in found if each.old) == Counter(
        each.trial for each in old.verdicts
    )
    assert Counter(each.new.trial for each in found if each.new) == Counter(
        each.trial for each in new.verdicts
    )
    random.shuffle(before)
    random.shuffle(after)
    assert compare(drawn_run(before), drawn_run(after)) == found


@given(TRIALS, TRIALS)
@example(
    [("c@1", "produce/calm", 1, "local:1", "pass"), ("c@1", "produce/calm", 2, "local:1", "expected-fail")],
    [("c@1", "produce/calm", 1, "local:1", "fail"), ("c@1", "produce/calm", 2, "local:1", "pass")],
)
def test_swapping_the_runs_swaps_the_changes(drawn_run, before, after) -> None:
    there, back = changes(drawn_run(before), drawn_run(after)), changes(drawn_run(after), drawn_run(before))
    for one, other in (
        (VerdictChange.APPEARED, VerdictChange.DISAPPEARED),
        (VerdictChange.DISAPPEARED, VerdictChange.APPEARED),
    ):
        assert there.count(one) == back.count(other)
    for same in (VerdictChange.SAME, VerdictChange.NOT_COMPARABLE, VerdictChange.FLAKY):
        assert there.count(same) == back.count(same)


def test_diff_exits_with_1_on_a_regression(run_of, verdict, capsys) -> None:
    old = run_of("old", verdict(client="c@1"), verdict(client="c@1", seed=2))
    new = run_of("new", verdict("lost", client="c@2"), verdict(client="c@2", seed=2))
    assert call(["diff", str(old), str(new)]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "regression: c@1 -> c@2 produce/calm[idempotent] local:4.3.1x1 seed 1: pass -> fail: lost: 3 records",
        "outcomes: 0 pairs of trials compared, 0 clear changes",
    ]
    assert err.splitlines() == ["regression 1, same 1; compared: c 1 with 2"]
    assert call(["diff", str(new), str(old)]) == 0
    assert capsys.readouterr().out.startswith("fixed: c@2 -> c@1")


def test_diff_writes_json_and_markdown(run_of, verdict, capsys) -> None:
    old, new = run_of("old", verdict()), run_of("new", verdict("lost"), verdict(seed=9))
    assert (
        call(["diff", str(old), str(new), "--json"])
        == call(["diff", str(old), str(new), "--format", "json"])
        == 1
    )
    out = capsys.readouterr().out
    document = json.loads(out[: len(out) // 2])
    assert json.loads(out[len(out) // 2 :]) == document
    assert document["counts"] == {"regression": 1, "appeared": 1}
    assert [each["change"] for each in document["differences"]] == ["regression", "appeared"]
    assert document["differences"][0]["new"]["verdict"] == "fail"
    assert call(["diff", str(old), str(new), "--format", "md"]) == 1
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) == 4 and rows[2].startswith("| regression | c@1 | `produce/calm[idempotent]")


def test_diff_refuses_a_folder_that_is_not_a_run(run_of, verdict, tmp_path, capsys) -> None:
    some = run_of("some", verdict())
    none = run_of("none", verdict())
    (none / "trials" / verdict().trial / "verdict.json").unlink()
    assert call(["diff", str(tmp_path / "nothing"), str(some)]) == 2
    assert call(["diff", str(none), str(some)]) == 5
    assert "Traceback" not in capsys.readouterr().err
