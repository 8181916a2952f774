"""A whole run with hostile strings and a secret on the command line, from the plan to the pages of the report."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from testkit.codes import has_error

TALKER = Path(__file__).parents[1] / "hostile_client" / "talker.py"
SCRIPT = str(Path(sys.executable).with_name("kafka-trial"))
SECRET = "hunter2-of-ours"
TEXT = r"\033]0;owned\007\n::error file=a::b ##[error]c <b>d</b> [/] | `e` @f https://g.example ![h](i)"
COMMAND = re.compile(r"(?m)^\s*::|##\w*\[")


def kafka_trial(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run([SCRIPT, *argv], cwd=folder, capture_output=True, text=True)
    assert "Traceback" not in ended.stderr and "defect" not in ended.stderr, ended.stderr
    for output in (ended.stdout, ended.stderr):
        assert SECRET not in output
        assert all(line.isprintable() for line in output.split("\n")), output
        assert not COMMAND.search(output)
    assert ended.stdout.isascii() or "--json" not in argv
    return ended


@pytest.mark.jvm
@pytest.mark.long("packs and reports a whole run")
def test_run_and_report_show_no_markup_and_no_secret(tmp_path, files_with):
    own = tmp_path / "own"
    own.mkdir()
    program = own / "[red]x"
    program.write_text(
        f"#!/bin/sh\nexport TALKER_TEXT=\"$(printf '%b' {shlex.quote(TEXT)}) password={SECRET}\"\n"
        f'exec {sys.executable} {TALKER} "$@"\n'
    )
    program.chmod(0o755)
    given = ["--", str(program), "errors", "--password", SECRET, "--url", f"https://u:{SECRET}@h/"]
    here = tmp_path / "here"
    here.mkdir()

    run = ["run", "produce/calm", "-g", "at-least-once", "-c", "reference", "--json"]
    ended = kafka_trial(here, *run, *given)
    document = json.loads(ended.stdout)
    verdicts = {each["client"]: each["verdict"] for each in document["verdicts"]}
    assert verdicts["reference@0.1.0"] == "pass" and "[red]x@1" in verdicts, ended.stderr
    assert files_with(here, SECRET) == []
    folder = here / document["run"]
    ET.parse(folder / "junit.xml")
    kafka_trial(here, "report", document["run"])
    assert files_with(here, SECRET) == []
    [trial] = [each["trial"] for each in document["verdicts"] if each["client"] == "[red]x@1"]
    page = (folder / "report" / "trials" / f"{trial}.html").read_text()
    assert "<b>d</b>" not in page
    assert "[redacted]" in page
    assert "--password" in page

    refused = kafka_trial(here, "replay", trial)
    assert refused.returncode == 2 and has_error(refused.stderr, "command-stored-redacted", "--password")
    again = kafka_trial(here, "replay", trial, "--json", *given)
    assert [each["verdict"] for each in json.loads(again.stdout)["verdicts"]] == [verdicts["[red]x@1"]]
    assert files_with(here, SECRET) == []
