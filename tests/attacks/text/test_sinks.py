"""All outputs show text of clients, stored files and names as plain text."""

from __future__ import annotations

import json
import logging
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt
from rich.table import Table

from harness.cli import console, main, output
from harness.cli.live_table import LiveTable
from harness.exports.junit import junit
from harness.exports.markdown import summary
from harness.judging.failure_report import failure_text, sentence
from harness.model.errors import KafkaTrialError
from harness.model.evidence import Evidence
from harness.model.rows import Ending, Phases, TrialRecord
from harness.model.spec import ClientRef, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee, Verdict
from harness.pytest_support.fixtures import TrialFailed, TrialInconclusive, TrialResult
from harness.running import defects
from harness.text.escaping import for_logs, safe_line

pytestmark = pytest.mark.long("packs and reports a whole run")

RUN = Path("runs/run-1")
COMMAND = re.compile(r"(?m)^\s*::|##\w*\[")
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
VERDICTS = [verdict.value for verdict in Verdict]
SPEC = TrialSpec("t", ClientRef("c", "1"), "b", "s", Guarantee.IDEMPOTENT, 1, Workload(), (), {})
EVIDENCE = Evidence(TrialRecord(SPEC, "r", "t", 0, Phases(), Ending.COMPLETE), (), (), (), ())


def assert_plain(texts: str) -> None:
    """Assert that lines have only visible characters, a limited length, and no CI command."""
    assert not {unicodedata.category(each) for line in texts.split("\n") for each in line} & INVISIBLE
    assert not COMMAND.search(texts)
    assert max(map(len, texts.split("\n"))) < 9_000


def for_any_text(check: Any) -> Any:
    """Return a test of ``check`` for any text. All texts share the fixtures of one test."""

    def test(hostile_texts, capsys, verdict_of, record_of) -> None:
        @settings(suppress_health_check=list(HealthCheck))
        @given(hostile_texts)
        def holds(text: str) -> None:
            check(text, capsys, verdict_of, record_of)

        holds()

    return test


@for_any_text
def test_terminal_shows_plain_text(text, capsys, verdict_of, record_of):
    console.say(text)
    console.say(f"x {text}")
    console.summary([verdict_of(text, verdict) for verdict in VERDICTS], Path(text.replace("\0", "")))
    out, err = capsys.readouterr()
    assert out == ""
    assert_plain(err)


@for_any_text
def test_answers_are_plain_text(text, capsys, verdict_of, record_of):
    table = Table("a", "b", box=None, pad_edge=False)
    table.add_row(console.cell(text), console.cell(f"x {text}"))
    console.answer(text)
    console.answer(table)
    assert_plain(capsys.readouterr().out)


@for_any_text
def test_json_on_stdout_is_ascii_with_the_same_content(text, capsys, verdict_of, record_of):
    text = text.encode(errors="replace").decode()
    output.print_json(output.run_document(RUN, record_of(text), [verdict_of(text)]))
    out = capsys.readouterr().out
    assert out.isascii()
    assert_plain(out)
    assert json.loads(out)["verdicts"][0]["reason"] == text


@for_any_text
def test_junit_is_valid_xml_with_escaped_text(text, capsys, verdict_of, record_of):
    for verdict in VERDICTS:
        text = text.encode(errors="replace").decode()
        root = ET.fromstring(junit(record_of(text), [verdict_of(text, verdict)], RUN, {}))
        shown = for_logs(safe_line(text))
        assert root.get("name") == shown
        assert root.find(".//testcase").get("classname") == shown
        texts = [each for node in root.iter() for each in (*node.attrib.values(), node.text or "")]
        for each in texts:
            assert_plain(each)
        if verdict == "fail":
            assert root.find(".//failure").get("type") == shown


@for_any_text
def test_summary_has_no_link_image_or_tag(text, capsys, verdict_of, record_of):
    document = summary(record_of(text), [verdict_of(text, verdict) for verdict in VERDICTS], RUN)
    assert_plain(document)
    renderer = MarkdownIt("gfm-like")
    assert renderer.linkify is not None
    renderer.linkify.set({"fuzzy_link": False})
    tokens = renderer.parse(document)
    parts = {part.type for token in tokens for part in token.children or ()}
    assert parts <= {"text", "code_inline"}
    assert not {token.type for token in tokens} & {"html_block", "fence", "code_block", "blockquote_open"}
    rows = [line.count("|") for line in document.split("\n") if line.startswith("|")]
    # Clients, outcomes and matrix. Five columns of the outcomes and one of the matrix are only there with names.
    outcomes, matrix = (11, 6) if text else (6, 5)
    assert rows == [3] * 3 + [outcomes] * 3 + [matrix] * 3


@for_any_text
def test_pytest_messages_are_plain_text(text, capsys, verdict_of, record_of):
    verdict = verdict_of(text)
    report = failure_text(verdict, EVIDENCE, RUN)
    assert_plain(report)
    assert_plain(sentence(verdict))
    with pytest.raises(TrialInconclusive) as inconclusive:
        TrialResult(verdict_of(text, "inconclusive"), RUN, None).must_pass()
    assert_plain(str(inconclusive.value))
    with pytest.raises(pytest.skip.Exception) as skipped:
        TrialResult(verdict_of(text, "unsupported"), RUN, None).must_pass()
    assert_plain(str(skipped.value))
    with pytest.raises(pytest.xfail.Exception) as expected:
        TrialResult(verdict_of(text, "expected-fail"), RUN, None).must_pass()
    assert_plain(str(expected.value))
    assert_plain(str(TrialFailed(report, sentence(verdict)).msg))


@for_any_text
def test_progress_is_plain_text(text, capsys, verdict_of, record_of):
    with LiveTable(Plan(1, (SPEC,)), [], 1, quiet=False) as table:
        table.began(msgspec.structs.replace(SPEC, scenario=text, client=ClientRef(text, text)))
        drawn = Table.grid()
        # The table is drawn only on a terminal, and the tests have none.
        drawn.add_row(table._drawn())
        console.console.print(drawn)
        table.ended(verdict_of(text, "harness-error"))
    assert_plain(capsys.readouterr().err)


def exit_code_after(error: Exception) -> int:
    """Return the exit code of a command that fails with ``error``."""

    def fail() -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        # No command fails with a text that a test chooses.
        patch.setattr(main.own_packages, "check", fail)
        return main.call([])


@for_any_text
def test_errors_are_plain_text(text, capsys, verdict_of, record_of):
    assert exit_code_after(KafkaTrialError("made-up", "{text}", text=text, hint=text)) == 3
    assert exit_code_after(ValueError(text)) == 3
    assert_plain(capsys.readouterr().err)


@for_any_text
def test_printed_traceback_is_plain_text(text, capsys, verdict_of, record_of):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(main.TRACEBACK, "1")
        assert exit_code_after(ValueError(text)) == 3
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert_plain(err)


def test_traceback_contains_no_line_of_a_private_key(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv(main.TRACEBACK, "1")
    try:
        raise ValueError("-----BEGIN PRIVATE KEY-----\nMIIEv\n-----END PRIVATE KEY-----")
    except ValueError as error:
        exit_code_after(error)
        defects.told(error, tmp_path)
    for told in (capsys.readouterr().err, (tmp_path / defects.TRACEBACK).read_text()):
        assert "ValueError: [redacted]" in told and "MIIEv" not in told.partition("ValueError: [redacted]")[2]


def test_stored_traceback_is_plain_text(hostile, tmp_path):
    for text in hostile:
        try:
            raise ValueError(text)
        except ValueError as error:
            assert_plain(for_logs(defects.told(error, tmp_path)))
        assert_plain((tmp_path / defects.TRACEBACK).read_text())


def test_log_messages_of_libraries_are_plain_text(hostile, capsys):
    main.call(["list", "brokers", "--json"])
    capsys.readouterr()
    for text in hostile:
        try:
            raise ValueError(text)
        except ValueError:
            assert logging.lastResort is not None
            logging.lastResort.handle(logging.LogRecord("asyncio", 40, "", 1, text, None, sys.exc_info()))
        assert_plain(capsys.readouterr().err)


def test_name_that_looks_like_markup_is_shown_unchanged(capsys, verdict_of):
    for name in ("x[/]", "[/nothing]", "[red]x", "[link=https://a.example]y"):
        console.say(name)
        console.answer(name)
        console.summary([verdict_of(name)])
    out, err = capsys.readouterr()
    assert "x[/]\n" in out and "[red]x" in out
    assert "x[/]\n" in err and "[link=https://a.example]y" in err


@pytest.mark.parametrize(
    "argv",
    [
        ["run", "{}"],
        ["run", "-c", "{}"],
        ["list", "{}"],
        ["explain", "{}"],
        ["{}"],
        ["run", "--{}"],
        ["run", "-b", "{}"],
        ["judge", "{}"],
        ["replay", "{}"],
        ["report", "{}"],
        ["campaign", "{}"],
        ["run", "--seed", "{}"],
        ["diff", "{}", "{}"],
        ["run", "--client-env", "{}"],
        ["run", "-j", "{}"],
        ["check-adapter", "--case", "{}"],
        ["run", "--", "{}"],
    ],
)
def test_command_line_arguments_are_shown_as_plain_text(argv, hostile, capsys, tmp_path, monkeypatch):
    """Arguments can come from a script as well as from a user."""
    monkeypatch.chdir(tmp_path)
    for text in ("".join(hostile), "x[/]", "::error::x", "\udcff"):
        word = text.replace("\0", "").replace("/", "_").replace("\ud800", "\udcff")
        code = main.call([each.replace("{}", word) for each in argv])
        out, err = capsys.readouterr()
        assert code in (0, 2, 3, 5), (text, err)
        assert "defect" not in err, err
        assert_plain(out)
        assert_plain(err)


def test_folder_name_that_is_not_utf8_is_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main.call(["simulate", "--out-dir", "\udcff", "--trials", "1", "--json"]) == 2
    (tmp_path / "\udcff").mkdir()
    assert main.call(["judge", "\udcff", "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        err.count(r"'\udcff' is not valid UTF-8, so the files of a run cannot store it: use another folder")
        == 2
    )
