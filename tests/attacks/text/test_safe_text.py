"""Properties of the text escaping, for any text."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.text.escaping import (
    MOST_CHARS,
    WHOLE_CHARS,
    for_json,
    for_logs,
    for_markdown,
    in_code_span,
    safe_each,
    safe_line,
    safe_lines,
    visible,
)
from harness.text.redaction import MARK

COMMAND = re.compile(r"(?m)^\s*::|##\w*\[")
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def assert_shown(line: str) -> None:
    assert not {unicodedata.category(each) for each in line} & INVISIBLE
    line.encode()


def for_any_text(check: Any) -> Any:
    """Return a test of ``check`` for any text, including hostile texts."""

    def test(hostile_texts: st.SearchStrategy[str]) -> None:
        given(hostile_texts)(check)()

    return test


@for_any_text
def test_line_has_only_visible_characters(text):
    assert_shown(safe_line(text))


@for_any_text
def test_escaping_is_idempotent(text):
    once = safe_line(text)
    assert safe_line(once) == once
    assert for_logs(for_logs(once)) == for_logs(once)


PLAIN = st.from_regex(r"record [0-9]{1,8} → p[0-9]@[0-9]{1,8}", fullmatch=True)


def test_many_texts_are_as_safe_as_each(hostile_texts: st.SearchStrategy[str]) -> None:
    named = st.sampled_from(["pass", "word=x1", "to", "ken: abcdef", "12", "https", "://u:p@h", "\u202e"])

    @given(st.lists(PLAIN | named | hostile_texts))
    def check(texts: list[str]) -> None:
        assert list(safe_each(texts, 200)) == [safe_line(text, 200) for text in texts]

    check()


@pytest.mark.parametrize("hidden", ["12345678", "p1@123456"])
def test_a_known_secret_among_many_texts_is_removed(hidden, monkeypatch):
    monkeypatch.setattr("harness.text.redaction._known", (hidden,))
    texts = [f"record 1 → {hidden}", *(f"record {n} → p0@{n}" for n in range(9))]
    assert safe_each(texts) == [f"record 1 → {MARK}", *texts[1:]]


@for_any_text
def test_length_of_a_line_is_limited(text):
    for most in (100, 400):
        assert len(safe_line(text * 30, most)) <= most
    assert len(safe_line(text * (WHOLE_CHARS // max(1, len(text)) + 1))) <= MOST_CHARS


@for_any_text
def test_truncated_line_is_not_truncated_again(text):
    for much in (30, WHOLE_CHARS // max(1, len(text)) + 1):
        once = safe_line(text * much, 100)
        assert safe_line(once, 100) == once


@for_any_text
def test_truncated_line_keeps_beginning_and_end(text):
    line = safe_line(f"begin {'x'.join(filter(str.isalnum, text * 100))} the end", 100)
    assert line.startswith("begin ") and line.endswith(" the end")


@for_any_text
def test_visible_ascii_is_unchanged(text):
    seen = "".join(each for each in text if each.isascii() and each.isprintable())
    assert visible(seen) == seen


@for_any_text
def test_every_character_is_shown_or_escaped(text):
    """Each character is in the result, unchanged or as its escape sequence."""
    shown = visible(text)
    for each in text:
        assert each in shown or each.encode("unicode_escape").decode() in shown


@for_any_text
def test_no_line_is_a_ci_command(text):
    assert not COMMAND.search(for_logs(text))
    assert not COMMAND.search(for_logs(safe_lines(text)))


@for_any_text
def test_json_in_ascii_has_the_same_content(text):
    text = text.encode(errors="replace").decode()
    shown = for_json(msgspec.json.format(msgspec.json.encode({"a": [text]}), indent=2))

    assert json.loads(shown) == {"a": [text]} and msgspec.json.decode(shown) == {"a": [text]}
    assert not COMMAND.search(shown.decode())
    assert all(each == "\n" or " " <= each <= "~" for each in shown.decode())


def rendered(document: str) -> list[Any]:
    """Return the parts of lines in GitHub's Markdown, where only text that begins like an address is a link."""
    renderer = MarkdownIt("gfm-like")
    assert renderer.linkify is not None
    renderer.linkify.set({"fuzzy_link": False})
    return [child for token in renderer.parse(document) for child in token.children or ()]


PLACES = ("- x {}", "| a | b |\n| --- | --- |\n| {} | end |\n", "# x {}")


@for_any_text
def test_markdown_has_only_text_and_code(text):
    text = for_markdown(text)
    for place in PLACES:
        parts = rendered(place.format(text))
        assert {each.type for each in parts} <= {"code_inline", "text"}
        assert text.strip("`").strip() in "".join(each.content for each in parts)


@for_any_text
def test_code_span_is_shown_unchanged(text):
    text = in_code_span(text)
    for place in PLACES:
        codes = [each.content for each in rendered(place.format(f"`{text}`")) if each.type == "code_inline"]
        assert codes == ([text] if text else [])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("3 records (2 trials, 1 scenario)", "3 records (2 trials, 1 scenario)"),
        ("kafkajs@2.2.4", "kafkajs@2.2.4"),
        ('a -> b: it\'s 50 % of "c"', 'a -> b: it\'s 50 % of "c"'),
        ("me@a.example", "`me@a.example`"),
        ("@user", "`@user`"),
        ("see #1", "`see #1`"),
        ("NOT_LEADER", "`NOT_LEADER`"),
        ("www.a.example", "`www.a.example`"),
        ("a|b`c", r"`a\x7cb\x60c`"),
        (":tada:", "`:tada:`"),
        ("", ""),
    ],
)
def test_only_special_text_becomes_code(text, shown):
    assert for_markdown(text) == shown


def test_truncation_states_how_much_is_missing():
    assert safe_line("x" * 200 + "y" * 300 + "z", 100) == f"{'x' * 45}… (441 more characters) …{'y' * 14}z"
    assert safe_line("x" * 30 * 2**20).endswith("x… (31,453,320 more characters)")
    assert safe_line("password=" + "x" * 2**20).endswith("[redacted]… (848,585 more characters)")
    assert len(safe_line("\x1b" * 2**20)) <= MOST_CHARS


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\u202eabc\u200b\ufeff\ud800", r"\u202eabc\u200b\ufeff\ud800"),
        ("\x9b2J\x7f", r"\x9b2J\x7f"),
        (r"C:\temp\x1b", r"C:\temp\x1b"),
        ("naïve 日本 ✔ é", "naïve 日本 ✔ é"),
        ("\u3164\U000e0041", r"\u3164\U000e0041"),
    ],
)
def test_invisible_characters_are_escaped(text, shown):
    assert safe_line(text) == shown


@pytest.mark.parametrize("where", range(0, 400, 7))
def test_truncation_reveals_no_secret(where):
    text = f"{'x' * where} no-password=innocent password=hunter2 {'y' * (400 - where)}"
    for most in range(100, 200, 9):
        assert "hunter" not in safe_line(text, most) and len(safe_line(text, most)) <= most


@pytest.mark.parametrize("gap", ["\n", "\t", "\r\n    "])
def test_secret_after_white_space_is_redacted(gap):
    shown = safe_line(
        f'x{gap}Bearer abcdefghijklmnopqrst --password{gap}hunter2 {{"password":{gap}"hunter2 x"}}'
    )
    assert "abcd" not in shown and "hunter2" not in shown


def test_every_line_of_a_private_key_is_redacted():
    key = "-----BEGIN PRIVATE KEY-----\nMIIE\nMIIF\n-----END PRIVATE KEY-----"
    assert safe_lines(f"a\n{key}\nb") == f"a\n{MARK}\nb"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error file=a::b", r"\x3a:error file=a::b"),
        ("  ::error::b", r"  \x3a:error::b"),
        ("x\n::error::b", "x\n" + r"\x3a:error::b"),
        ("x\r::error::b", "x\r" + r"\x3a:error::b"),
        ("\u2003::error::b", "\u2003" + r"\x3a:error::b"),
        ("a ##[error]b", r"a \x23#[error]b"),
        ("###vso[task.x]b", r"#\x23#vso[task.x]b"),
        ("rdkafka::Error and ::1", "rdkafka::Error and ::1"),
        ("## heading", "## heading"),
    ],
)
def test_ci_commands_are_escaped(text, shown):
    assert for_logs(text) == shown
