"""The file of known failures:

invalid entries are refused with a clear error, and edits keep the rest unchanged.
"""

from __future__ import annotations

import logging
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.baseline import KnownFailure, load
from harness.baseline.file import appended, in_force, parse, without
from harness.model.errors import UsageError
from harness.plugins import registry
from testkit.codes import has_error, raises_code

ENTRY = '[[known]]\nclient = "c@1"\nanomaly = "lost"\nreason = "so"\n'
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
KNOWN = st.builds(
    KnownFailure,
    client=st.sampled_from(["c@1", "confluent-kafka@*", "d@2.?"]),
    reason=TEXT,
    anomaly=st.sampled_from(["lost", "oversized-batch-not-split"]),
    requirement=st.none() | st.just("PRD-SPL-01"),
    scenario=st.sampled_from(["*", "produce/*", "frame/out-of-order"]),
    guarantee=st.none() | st.sampled_from(["idempotent", "at-least-once"]),
    level=st.none() | st.sampled_from(["MUST", "SHOULD"]),
    url=st.none() | TEXT,
    expires=st.none() | st.dates(),
    flaky=st.booleans(),
)


@given(st.lists(KNOWN, max_size=4), st.lists(KNOWN, max_size=3))
def test_written_entries_are_read_back(first, more) -> None:
    text = appended("", first)
    assert parse(text, "f") == tuple(first)
    assert parse(appended(text, more), "f") == (*first, *more)


@given(st.lists(KNOWN, min_size=1, max_size=5), st.data())
def test_removing_entries_keeps_the_others(entries, data) -> None:
    gone = data.draw(st.sets(st.integers(0, len(entries) - 1)))
    rest = without(appended("", entries), gone, "f")
    assert parse(rest, "f") == tuple(entry for place, entry in enumerate(entries) if place not in gone)


def test_comments_and_formatting_are_kept() -> None:
    text = f"# Ours.\n\n# The first.\n{ENTRY}\n# The second, # 7.\n{ENTRY.replace('lost', 'gave-up')}  # still so\n"
    added = appended(text, [KnownFailure("d@1", "why", anomaly="lost")])
    assert added.startswith(text.rstrip("\n")) and parse(added, "f")[2].client == "d@1"
    assert without(text, {1}, "f") == f"# Ours.\n\n# The first.\n{ENTRY}\n"
    assert without(text, {0}, "f") == text.replace(f"# The first.\n{ENTRY}\n", "")


@pytest.mark.parametrize(
    "text",
    [
        'known = [{client = "c@1", anomaly = "lost", reason = "so"}]\n',
        ENTRY.replace('"so"', '"""\n[[known]]\nso"""'),
        ENTRY.replace("[[known]]", '[["known"]]'),
    ],
)
def test_an_entry_that_is_not_on_lines_of_its_own_is_not_removed(text) -> None:
    with raises_code(UsageError, "entries-not-separate"):
        without(text, {0}, "f")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[known]\n", ("not-toml",)),
        ('[[knwon]]\nclient = "c@1"\n', ("unknown-name", "'knwon'", "'known'")),
        ('[known]\nclient = "c@1"\n', ("entry-not-a-table",)),
        ("known = [1]\n", ("entry-not-a-table", "1")),
        (ENTRY + 'gaurantee = "idempotent"\n', ("unknown-name", "'gaurantee'", "'guarantee'", "1")),
        (f"{ENTRY}\n{ENTRY}flaky = 1\n", ("entry-malformed", "`bool`", "2")),
        (ENTRY.replace('reason = "so"\n', ""), ("entry-malformed", "`reason`")),
        (ENTRY.replace('"so"', '" "'), ("entry-without-reason",)),
        (ENTRY.replace('anomaly = "lost"\n', ""), ("entry-without-failure",)),
        (ENTRY.replace("lost", "losst"), ("unknown-anomaly", "'losst'", "'lost'")),
        (ENTRY.replace("c@1", "*"), ("client-without-version",)),
        (ENTRY.replace("c@1", "*@*"), ("not-one-client",)),
        (ENTRY.replace("c@1", "kafka*@1"), ("not-one-client",)),
        (ENTRY.replace("c@1", "c"), ("client-without-version",)),
        (ENTRY.replace("c@1", "c@"), ("client-without-version",)),
        (ENTRY + 'scenario = "produce/clam"\n', ("unknown-name", "'produce/calm'")),
        (ENTRY + 'scenario = "produse/*"\n', ("unknown-name", "'produse/*'")),
        (ENTRY + 'guarantee = "idempotnt"\n', ("unknown-name", "'idempotent'")),
        (ENTRY + 'level = "must"\n', ("unknown-name", "'must'")),
        (ENTRY + 'expires = "soon"\n', ("entry-malformed", "1")),
    ],
)
def test_an_invalid_entry_is_refused_with_its_code(text, told) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text, "f")
    assert has_error(refused.value, *told) and str(refused.value).startswith("f")


def test_an_expired_entry_is_ignored_and_reported(tmp_path, caplog) -> None:
    file = tmp_path / "known.toml"
    file.write_text(f"{ENTRY}expires = 2026-05-01\n\n{ENTRY.replace('lost', 'gave-up')}")
    assert len(load(str(file), date(2026, 5, 1))) == 2
    with caplog.at_level(logging.INFO, logger="harness"):
        [left] = load(str(file), date(2026, 5, 2))
    assert left.anomaly == "gave-up"
    assert "c@1 lost in * expired on 2026-05-01" in caplog.text
    assert in_force(parse(file.read_text(), "f"), date(2030, 1, 1)) == (left,)


def test_a_missing_file_is_a_usage_error(tmp_path) -> None:
    with raises_code(UsageError, "no-known-failures"):
        load(str(tmp_path / "none.toml"))
    with raises_code(UsageError, "cannot-read"):
        load(str(tmp_path))


@pytest.mark.parametrize("name", registry.names("baselines"))
def test_the_shipped_lists_can_be_read(name) -> None:
    entries = load(name, date.max)
    assert entries and all(entry.url for entry in entries)
