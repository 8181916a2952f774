"""Counts in sentences: a number has its noun in the singular or the plural, never "1 trials"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.errors import UsageError
from harness.text.counting import plural, some

ROOT = Path(__file__).parents[2]
FOLDERS = ("clients", "faults", "harness", "reports", "suites")
#: Code of other languages, and the texts of assertions.
LEFT_OUT = {"adapters", "properties"}
SUFFIXES = (".py", ".html", ".js")
#: A call or a placeholder that writes a count with its noun, such as ``some(n, "trial")`` and ``{count:record}``.
COUNTING = re.compile(r"""some\([^"'\n]*?["']([A-Za-z -]+)["']\)|\{\w+:([a-z][a-z -]+)\}""")
#: A placeholder before a plural. "3 of {count} trials" is right for each count. A constant is never 1.
COUNT = (
    r"(?<!of )(?<!of \$)(?<!\{)\{(?:\{[^{}\n]*\}|(?![A-Z_]+\})[^{}\n:]*(?::,)?)\} "
    r"(?!of |after |in |has |have )(?:[a-z]+ )?"
)
#: Plurals that are verbs as well: "the client {name} runs".
VERBS = {"requests", "runs"}
#: Templates in which the count is never 1: place -> why.
EXCEPTIONS = {
    "harness/baseline/file.py": "a limit of many characters",
    "harness/search/bisect_run.py": "more seeds than the one or more before",
    "harness/wire/readers.py": "a limit of many elements",
    "suites/checks/wire/requests_in_flight.py": "more batches than the limit of one or more",
}


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and not LEFT_OUT & set(path.parts):
                yield path.relative_to(ROOT).as_posix(), path.read_text()


SOURCES = dict(sources())


def nouns():
    """Return the plural of each noun that the project counts, without its adjectives."""
    found = (a or b for text in SOURCES.values() for a, b in COUNTING.findall(text))
    return {plural(noun.split()[-1]) for noun in found} - VERBS


BROKEN = re.compile(rf"{COUNT}(?:{'|'.join(sorted(nouns()))})\b")


def test_no_template_has_a_count_before_a_plural():
    found = {path: BROKEN.findall(text) for path, text in SOURCES.items() if path not in EXCEPTIONS}
    assert {path: hits for path, hits in found.items() if hits} == {}


def test_every_exception_is_needed():
    assert [path for path in EXCEPTIONS if not BROKEN.search(SOURCES[path])] == []


@pytest.mark.parametrize(
    "text", ["{count} trials", "{len(found):,} known trials", "{{ n | thousands }} records"]
)
def test_such_a_template_is_found(text):
    assert BROKEN.search(text)


@pytest.mark.parametrize("text", ["3 of {count} trials", "{count:trial}", "{some(n, 'trial')}"])
def test_a_right_template_is_accepted(text):
    assert not BROKEN.search(text)


@given(st.integers(0, 10**7), st.sampled_from(["record", "batch part", "process"]))
def test_an_error_counts_like_other_sentences(count, noun):
    assert (
        str(UsageError("some-code", f"it has {{count:{noun}}}", count=count)) == f"it has {some(count, noun)}"
    )


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("trial", "trials"),
        ("process", "processes"),
        ("batch", "batches"),
        ("entry", "entries"),
        ("key", "keys"),
    ],
)
def test_a_noun_has_its_plural(noun, many):
    assert some(1, noun) == f"1 {noun}" and some(0, noun) == f"0 {many}" and some(2, noun) == f"2 {many}"
