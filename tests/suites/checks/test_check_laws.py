"""Properties of the checks: faithful trials are never accused, and each check finds its seeded corruption."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.verdicts import Guarantee
from harness.workloads.produce import accounting
from suites.checks.history import (
    corrupted,
    delivery_timeout,
    duplicate,
    lost,
    reordered,
    still_pending,
    unexpected_record,
)

CHECKS = [
    module.CHECK
    for module in (lost, duplicate, reordered, unexpected_record, corrupted, delivery_timeout, still_pending)
]
GUARANTEES = st.sampled_from([Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT])


def total(findings):
    return sum(finding.count for finding in findings)


@given(data=st.data(), guarantee=GUARANTEES)
def test_faithful_trial_is_never_accused(faithful, data, guarantee):
    evidence = data.draw(faithful(guarantee)).evidence()

    assert {check.name: check.run(evidence) for check in CHECKS} == {check.name: [] for check in CHECKS}


@given(data=st.data(), guarantee=GUARANTEES)
def test_every_log_record_is_first_copy_extra_copy_or_foreign(faithful, data, guarantee):
    story = data.draw(faithful(guarantee))
    foreign = data.draw(st.integers(0, 3))
    story.log += [story.record(0, 0, value=f"foreign {n}", offset=1_000 + n) for n in range(foreign)]
    evidence = story.evidence()
    counts = accounting.count(evidence)

    assert counts["in_log"] == len(evidence.copies) + counts["duplicated"] + foreign
    assert counts["sent"] == counts["acked"] + counts["failed"] + counts["unknown"]
    assert (counts["lost"], counts["unexpected"]) == (0, foreign)


@given(data=st.data(), guarantee=GUARANTEES)
def test_dropped_record_is_lost(faithful, data, guarantee):
    story = data.draw(faithful(guarantee, outcomes=("ok",)))
    victim = data.draw(st.sampled_from(sorted(story.called_ms)))
    copies = {id(copy) for copy in story.evidence().copies[victim]}
    story.log = [record for record in story.log if id(record) not in copies]
    evidence = story.evidence()

    (finding,) = lost.CHECK.run(evidence)
    assert (finding.anomaly, finding.count, finding.samples[0]["n"]) == ("lost", 1, victim)
    assert accounting.count(evidence)["lost"] == 1


@given(data=st.data(), guarantee=GUARANTEES)
def test_copy_without_a_request_is_a_duplicate(faithful, data, guarantee):
    story = data.draw(faithful(guarantee))
    before = accounting.count(story.evidence())["duplicated"]
    copy = data.draw(st.sampled_from(story.log))
    n = next(n for n, copies in story.evidence().copies.items() if copy in copies)
    story.append([n], copy.partition, batch_crc=1)
    evidence = story.evidence()

    (finding,) = duplicate.CHECK.run(evidence)
    assert finding.count == 1
    assert accounting.count(evidence)["duplicated"] == before + 1


@given(data=st.data())
def test_swapped_records_are_reordered(faithful, data):
    story = data.draw(faithful(Guarantee.IDEMPOTENT, outcomes=("ok",)))
    first = data.draw(st.integers(0, len(story.log) - 1))
    second = data.draw(st.integers(0, len(story.log) - 1))
    a, b = story.log[first], story.log[second]
    assume(first != second and a.partition == b.partition)
    story.log[first] = replace(a, key=b.key, value=b.value)
    story.log[second] = replace(b, key=a.key, value=a.value)
    evidence = story.evidence()

    (finding,) = reordered.CHECK.run(evidence)
    assert finding.count == accounting.count(evidence)["reordered"] >= 1
    assert corrupted.CHECK.run(evidence)


@given(data=st.data(), guarantee=GUARANTEES)
def test_changed_value_is_corrupted(faithful, data, guarantee):
    story = data.draw(faithful(guarantee))
    index = data.draw(st.integers(0, len(story.log) - 1))
    whole = story.log[index]
    at = data.draw(st.integers(0, len(whole.value) - 1))
    changed = whole.value[:at] + chr(ord(whole.value[at]) ^ 1) + whole.value[at + 1 :]
    story.log[index] = replace(whole, value=changed)
    evidence = story.evidence()

    by_reason = {finding.message: finding.count for finding in corrupted.CHECK.run(evidence)}
    assert by_reason["1 place: the value is not intact"] == 1
    assert accounting.count(evidence)["unexpected"] == 1


@given(data=st.data(), guarantee=GUARANTEES)
def test_changed_key_is_corrupted(faithful, data, guarantee):
    story = data.draw(faithful(guarantee))
    index = data.draw(st.integers(0, len(story.log) - 1))
    story.log[index] = replace(story.log[index], key=data.draw(st.sampled_from([None, "", "K0"])))

    assert total(corrupted.CHECK.run(story.evidence())) == 1


@given(data=st.data(), guarantee=GUARANTEES, count=st.sampled_from([None, 0, 1, 7]))
def test_added_header_is_corrupted(faithful, data, guarantee, count):
    story = data.draw(faithful(guarantee))
    index = data.draw(st.integers(0, len(story.log) - 1))
    story.log[index] = replace(story.log[index], headers=count)

    assert total(corrupted.CHECK.run(story.evidence())) == (1 if count else 0)


@given(data=st.data(), guarantee=GUARANTEES)
def test_broken_crc_is_corrupted(faithful, data, guarantee):
    story = data.draw(faithful(guarantee))
    index = data.draw(st.integers(0, len(story.log) - 1))
    story.log[index] = replace(story.log[index], crc_ok=False)

    assert total(corrupted.CHECK.run(story.evidence())) == 1


@given(data=st.data(), guarantee=GUARANTEES)
def test_invented_record_is_unexpected(faithful, data, guarantee):
    story = data.draw(faithful(guarantee))
    invented = len(story.called_ms) + data.draw(st.integers(0, 5))
    story.append([invented], data.draw(st.integers(0, 1)))
    evidence = story.evidence()

    assert total(unexpected_record.CHECK.run(evidence)) == accounting.count(evidence)["unexpected"] == 1


@given(data=st.data(), guarantee=GUARANTEES)
def test_missing_result_is_still_pending(faithful, data, guarantee):
    story = data.draw(faithful(guarantee))
    silent = data.draw(st.sampled_from(sorted(story.called_ms)))
    story.history = [event for event in story.history if getattr(event, "records", None) != [silent]]

    (finding,) = still_pending.CHECK.run(story.evidence())
    assert (finding.count, finding.samples[0]["n"]) == (1, silent)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_check_has_a_page_and_names_its_mutant(check):
    page = __import__(check.run.__module__, fromlist=["_"]).__doc__

    assert page.startswith(f"# {check.name}\n")
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == [
        "## What it does",
        "## Why it is bad",
        "## How it is judged per guarantee",
        "## What it needs",
        "## References",
    ]
    assert check.requirements and check.guarantees
    assert check.killed_mutant
