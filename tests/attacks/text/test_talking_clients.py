"""Clients whose every string is hostile, or a secret that they were given, up to the sentence that ends their trial."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Conversation
from harness.adapter.discreet import rewrite
from harness.adapter.trace_file import read
from harness.cli import console
from harness.cli.main import call
from harness.limits.meter import Meter
from harness.model.contract import Configured, OpComplete
from harness.model.errors import KafkaTrialError
from harness.planning import typed_settings
from harness.plugins.client import Launch
from harness.text import redaction
from harness.text.escaping import log_line
from harness.text.redaction import MARK
from harness.workloads.produce.commands import Produce

TALKER = Path(__file__).parents[1] / "hostile_client" / "talker.py"
MOMENTS = ("startup", "refuses", "fatal", "crashes", "errors", "dies", "unknown")
COMMAND = re.compile(r"(?m)^\s*::|##\w*\[")
HUNTER = "hunter2-of-ours"
CONFIG = {"acks": "all", "linger.ms": 5}


class Capabilities:
    """What became of one conversation."""

    def __init__(self, folder: Path) -> None:
        self.events: list[Any] = []
        self.error: KafkaTrialError | None = None
        self.notes: list[str] = []
        self.log = folder / "client.log"


def converse(
    argv: tuple[str, ...], folder: Path, config: dict[str, Any] | None = None, **env: str
) -> Capabilities:
    told = Capabilities(folder)

    async def life() -> None:
        async with Conversation(Launch(argv, env), told.log, told.events.append) as client:
            await client.startup()
            await client.configure("r", "p1", {**CONFIG, **(config or {})})
            await client.load(Produce(0, "t", 0, [None], ["v"]))
            await client.settled.wait() if argv[2] in ("startup", "errors", "unknown") else None
            await client.until(lambda: False, 60) if argv[2] in (
                "fatal",
                "crashes",
                "dies",
                "echoes",
            ) else None
            told.notes = client.notes
            await client.close(1_000)

    try:
        asyncio.run(life())
    except KafkaTrialError as error:
        told.error = error
    return told


@pytest.mark.parametrize("when", MOMENTS)
def test_what_a_client_says_is_shown_as_words(when, tmp_path, capsys):
    text = "\x1b]0;owned\x07\n::error file=a::b\n##[error]b \u202e\u200b [/red] \x9b2J"
    told = converse((sys.executable, str(TALKER), when), tmp_path, TALKER_TEXT=text)
    console.say(f"error: {told.error}")
    for note in told.notes:
        console.say(note)
    err = capsys.readouterr().err
    assert all(line.isprintable() for line in err.split("\n"))
    assert not COMMAND.search(err)
    assert (told.error is None) == (when in ("startup", "errors", "unknown")), told.error
    if told.error is not None and when != "dies":  # of its log the last line is told
        assert r"\x1b]0;owned\x07" in log_line(str(told.error))


def test_a_client_that_echoes_its_secrets_tells_nobody(tmp_path):
    argv = (sys.executable, str(TALKER), "echoes", "--password", HUNTER)
    typed_settings.stored_command(argv)
    told = converse(argv, tmp_path, APP_TOKEN="another-secret")

    assert HUNTER not in str(told.error) and "another-secret" not in str(told.error)
    assert MARK in str(told.error)
    assert HUNTER not in repr(told.events) and "another-secret" not in repr(told.events)
    log = told.log.read_text()
    assert "talker.py echoes --password [redacted]" in log and '"APP_TOKEN": "[redacted]"' in log


def test_what_the_client_was_configured_with_is_not_kept(tmp_path):
    config = {
        "sasl.jaas.config": f'x required password="{HUNTER}";',
        "ssl.key.password": HUNTER,
        "use.token": True,
    }
    told = converse(
        (sys.executable, str(TALKER), "errors"), tmp_path, config, TALKER_TEXT=f"password={HUNTER}"
    )

    [configured] = [event for event in told.events if isinstance(event, Configured)]
    assert configured.applied["sasl.jaas.config"] == ("sasl.jaas.config", MARK)
    assert configured.applied["ssl.key.password"] == ("ssl.key.password", MARK)
    assert configured.applied["use.token"] == ("use.token", True)
    assert configured.applied["acks"] == ("acks", "all")
    results = [event for event in told.events if isinstance(event, OpComplete) and event.op == "send"]
    assert results[0].error == [f"password={MARK}"]


@pytest.mark.parametrize("when", ["dies", "latin-1"])
def test_the_sentence_that_quotes_a_client_has_no_secret(when, tmp_path):
    said = f"password={HUNTER}" + ("\n" if when == "dies" else "")
    if when == "dies":
        told = converse((sys.executable, str(TALKER), when), tmp_path, TALKER_TEXT=said)
    else:
        script = f"import sys; sys.stdout.buffer.write(b'caf\\xe9 {said}\\n')"
        told = converse((sys.executable, "-c", script), tmp_path)
    assert HUNTER not in str(told.error) and "password=[redacted]" in str(told.error)


def test_a_trace_is_kept_without_secrets(tmp_path):
    redaction.remember(["typed-by-the-user"])
    rows = [
        {"event": "configured", "sasl.password": HUNTER, "more": [{"token": HUNTER, "n": 1}], "acks": "all"},
        {"event": "said", "message": f"token={HUNTER} and typed-by-the-user"},
        {"event": "innocent", "token_bucket": 3, "name": "x"},
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read(path, Meter("c", 1)) == (
        {"event": "configured", "sasl.password": MARK, "more": [{"token": MARK, "n": 1}], "acks": "all"},
        {"event": "said", "message": f"token={MARK} and {MARK}"},
        rows[2],
    )


def test_a_client_cannot_have_words_of_ours_redacted(tmp_path):
    """It names ``acknowledged`` a password; the harness goes on to use the word."""
    converse(
        (sys.executable, str(TALKER), "errors"), tmp_path, {"a.password": "acknowledged"}, TALKER_TEXT="x"
    )
    assert redaction.text("3 records acknowledged") == "3 records acknowledged"


def test_a_log_that_is_a_link_is_left_alone(tmp_path):
    target = tmp_path / "target"
    target.write_text(f"password={HUNTER}\n")
    (tmp_path / "log").symlink_to(target)
    rewrite(tmp_path / "log", 1_000)
    rewrite(tmp_path, 1_000)
    rewrite(tmp_path / "nowhere", 1_000)
    assert target.read_text() == f"password={HUNTER}\n"


def test_a_log_of_any_bytes_stays_as_it_is_but_for_secrets(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"caf\xe9 \x00\x1b[2J\r\npassword=" + HUNTER.encode() + b"\n" + b"x" * 100_000)
    rewrite(log, 50_000)
    said = log.read_bytes()
    assert said.startswith(b"caf\xe9 \x00\x1b[2J\r\npassword=[redacted]\n") and 49_000 < len(said) < 50_100


def test_a_log_has_no_line_of_a_private_key(tmp_path):
    log, lines = tmp_path / "log", "M" * 64 + "\n"
    key = f"-----BEGIN PRIVATE KEY-----\n{500 * lines}-----END PRIVATE KEY-----\n"
    log.write_text(f"it is\n{key}and so on\nand no more\n")
    rewrite(log, 50_000)
    assert log.read_text() == f"it is\n{MARK}\nand so on\nand no more\n"


@pytest.mark.long("a conversation with a process for each text")
@pytest.mark.parametrize("when", ["startup", "refuses", "dies"])
def test_the_contract_suite_tells_of_it_in_words(when, capsys, tmp_path):
    wrapper = tmp_path / "\x1b]0;y\x07[red]x[nothing]"
    wrapper.write_text(
        f"#!/bin/sh\nexport TALKER_TEXT=\"$(printf '\\033]0;owned\\007\\n::error file=a::b [/]')\"\n"
        f'exec {sys.executable} {TALKER} {when} "$@"\n'
    )
    wrapper.chmod(0o755)
    argv = ["check-adapter", "--case", "startup", "--case", "configuration", "--json"]
    assert call([*argv, "--", str(wrapper), "--password", HUNTER]) in (0, 1)
    out, err = capsys.readouterr()
    assert out.isascii() and HUNTER not in out and HUNTER not in err
    assert all(line.isprintable() for line in err.split("\n")) and not COMMAND.search(err)
    assert r"\x1b]0;y\x07[red]x[nothing]@own: " in err
