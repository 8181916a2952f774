"""A whole run beside an honest client: hostile strings and a secret on the command line, from plan to page."""

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
HUNTER = "hunter2-of-ours"
TEXT = r"\033]0;owned\007\n::error file=a::b ##[error]c <b>d</b> [/] | `e` @f https://g.example ![h](i)"
COMMAND = re.compile(r"(?m)^\s*::|##\w*\[")


def kafka_trial(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run([SCRIPT, *argv], cwd=folder, capture_output=True, text=True)
    assert "Traceback" not in ended.stderr and "defect" not in ended.stderr, ended.stderr
    for said in (ended.stdout, ended.stderr):
        assert HUNTER not in said
        assert all(line.isprintable() for line in said.split("\n")), said
        assert not COMMAND.search(said)
    assert ended.stdout.isascii() or "--json" not in argv
    return ended


@pytest.mark.jvm
@pytest.mark.long("packs and reports a whole run")
def test_neither_markup_nor_a_secret_gets_through(tmp_path, files_with):
    own = tmp_path / "own"
    own.mkdir()
    program = own / "[red]x"
    program.write_text(
        f"#!/bin/sh\nexport TALKER_TEXT=\"$(printf '%b' {shlex.quote(TEXT)}) password={HUNTER}\"\n"
        f'exec {sys.executable} {TALKER} "$@"\n'
    )
    program.chmod(0o755)
    given = ["--", str(program), "errors", "--password", HUNTER, "--url", f"https://u:{HUNTER}@h/"]
    here = tmp_path / "here"
    here.mkdir()

    run = ["run", "produce/calm", "-g", "at-least-once", "-c", "reference", "--json"]
    ended = kafka_trial(here, *run, *given)
    told = json.loads(ended.stdout)
    verdicts = {each["client"]: each["verdict"] for each in told["verdicts"]}
    assert verdicts["reference@0.1.0"] == "pass" and "[red]x@own" in verdicts, ended.stderr
    assert files_with(here, HUNTER) == []
    folder = here / told["run"]
    ET.parse(folder / "junit.xml")
    kafka_trial(here, "report", told["run"])
    assert files_with(here, HUNTER) == []
    [trial] = [each["trial"] for each in told["verdicts"] if each["client"] == "[red]x@own"]
    page = (folder / "report" / "trials" / f"{trial}.html").read_text()
    assert "<b>d</b>" not in page and "--password" in page and "[redacted]" in page

    refused = kafka_trial(here, "replay", trial)
    assert refused.returncode == 2 and has_error(refused.stderr, "command-stored-redacted", "--password")
    again = kafka_trial(here, "replay", trial, "--json", *given)
    assert [each["verdict"] for each in json.loads(again.stdout)["verdicts"]] == [verdicts["[red]x@own"]]
    assert files_with(here, HUNTER) == []
