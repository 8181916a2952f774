"""The word list: each rule finds its example, code is not checked, and the baseline only shrinks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

SCRIPTS = str(Path(__file__).parents[2] / "scripts")
sys.path.insert(0, SCRIPTS)
from wording import baseline  # noqa: E402
from wording.files import passages  # noqa: E402
from wording.rules import TABLE, Hit, hits, table  # noqa: E402

sys.path.remove(SCRIPTS)

RULES = table(TABLE.read_text())
COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 4))


def hits_of(counts):
    return {name: [Hit(line, "lest", "so that") for line in range(count)] for name, count in counts.items()}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.pattern)
def test_rule_finds_its_example_and_not_the_better_sentence(rule):
    for text, is_found in ((rule.found, True), (rule.better, False)):
        of_file = passages("one.py", f'"""{text}"""\n')
        assert any(hits(of_file, [rule])) == is_found


@given(st.sampled_from(["nobody = 1", "x = 'nobody'", "f('nobody', y='nobody')", "`nobody`"]))
def test_code_is_not_checked(code):
    source = f'"""Words `nobody` and ``nobody``."""\n{"" if "`" in code else code}\n'
    assert hits(passages("one.py", source), RULES) == []


def test_comments_docstrings_and_help_texts_are_checked():
    source = '"""One."""\n\nx = 1  # nobody\n\n\ndef f():\n    """Nobody."""\n\n\noption(help="Nobody.")\n'
    assert sorted(hit.line for hit in hits(passages("one.py", source), RULES)) == [3, 7, 10]


@given(COUNTS)
def test_written_baseline_is_read_unchanged(counts):
    assert baseline.read(baseline.written(counts)) == counts


@given(COUNTS, COUNTS)
def test_lowered_baseline_equals_the_hits_and_never_grows(old, now):
    lowered = baseline.lowered(old, hits_of(now))
    assert all(count <= old[name] for name, count in lowered.items())
    assert not any(
        "the baseline allows" in line and "--update" in line
        for line in baseline.problems(lowered, hits_of(now))
    )


@given(COUNTS, COUNTS)
def test_file_with_another_number_of_hits_is_a_problem(allowed, now):
    assert bool(baseline.problems(allowed, hits_of(now))) == (allowed != now)
