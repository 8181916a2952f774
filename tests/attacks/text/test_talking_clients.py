"""Hostile strings and secrets in the output of a client are escaped and redacted, up to the error of the trial."""

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
SECRET = "hunter2-of-ours"
CONFIG = {"acks": "all", "linger.ms": 5}


class Outcome:
    """The result of one conversation."""

    def __init__(self, folder: Path) -> None:
        self.events: list[Any] = []
        self.error: KafkaTrialError | None = None
        self.notes: list[str] = []
        self.log = folder / "client.log"


def converse(
    argv: tuple[str, ...], folder: Path, config: dict[str, Any] | None = None, **env: str
) -> Outcome:
    outcome = Outcome(folder)

    async def life() -> None:
        async with Conversation(Launch(argv, env), outcome.log, outcome.events.append) as client:
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
            outcome.notes = client.notes
            await client.close(1_000)

    try:
        asyncio.run(life())
    except KafkaTrialError as error:
        outcome.error = error
    return outcome


@pytest.mark.parametrize("when", MOMENTS)
def test_output_of_a_client_is_shown_as_plain_text(when, tmp_path, capsys):
    text = "\x1b]0;owned\x07\n::error file=a::b\n##[error]b \u202e\u200b [/red] \x9b2J"
    outcome = converse((sys.executable, str(TALKER), when), tmp_path, TALKER_TEXT=text)
    console.say(f"error: {outcome.error}")
    for note in outcome.notes:
        console.say(note)
    err = capsys.readouterr().err
    assert all(line.isprintable() for line in err.split("\n"))
    assert not COMMAND.search(err)
    assert (outcome.error is None) == (when in ("startup", "errors", "unknown")), outcome.error
    if outcome.error is not None and when != "dies":  # the error quotes only the last line of the log
        assert r"\x1b]0;owned\x07" in log_line(str(outcome.error))


def test_secrets_that_a_client_echoes_are_redacted(tmp_path):
    argv = (sys.executable, str(TALKER), "echoes", "--password", SECRET)
    typed_settings.stored_command(argv)
    outcome = converse(argv, tmp_path, APP_TOKEN="another-secret")

    assert SECRET not in str(outcome.error) and "another-secret" not in str(outcome.error)
    assert MARK in str(outcome.error)
    assert SECRET not in repr(outcome.events) and "another-secret" not in repr(outcome.events)
    log = outcome.log.read_text()
    assert "talker.py echoes --password [redacted]" in log and '"APP_TOKEN": "[redacted]"' in log


def test_configured_secrets_are_redacted(tmp_path):
    config = {
        "sasl.jaas.config": f'x required password="{SECRET}";',
        "ssl.key.password": SECRET,
        "use.token": True,
    }
    outcome = converse(
        (sys.executable, str(TALKER), "errors"), tmp_path, config, TALKER_TEXT=f"password={SECRET}"
    )

    [configured] = [event for event in outcome.events if isinstance(event, Configured)]
    assert configured.applied["sasl.jaas.config"] == ("sasl.jaas.config", MARK)
    assert configured.applied["ssl.key.password"] == ("ssl.key.password", MARK)
    assert configured.applied["use.token"] == ("use.token", True)
    assert configured.applied["acks"] == ("acks", "all")
    results = [event for event in outcome.events if isinstance(event, OpComplete) and event.op == "send"]
    assert results[0].error == [f"password={MARK}"]


@pytest.mark.parametrize("when", ["dies", "latin-1"])
def test_error_that_quotes_a_client_is_redacted(when, tmp_path):
    said = f"password={SECRET}" + ("\n" if when == "dies" else "")
    if when == "dies":
        outcome = converse((sys.executable, str(TALKER), when), tmp_path, TALKER_TEXT=said)
    else:
        script = f"import sys; sys.stdout.buffer.write(b'caf\\xe9 {said}\\n')"
        outcome = converse((sys.executable, "-c", script), tmp_path)
    assert SECRET not in str(outcome.error) and "password=[redacted]" in str(outcome.error)


def test_trace_is_redacted(tmp_path):
    redaction.remember(["typed-by-the-user"])
    rows = [
        {"event": "configured", "sasl.password": SECRET, "more": [{"token": SECRET, "n": 1}], "acks": "all"},
        {"event": "said", "message": f"token={SECRET} and typed-by-the-user"},
        {"event": "innocent", "token_bucket": 3, "name": "x"},
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read(path, Meter("c", 1)) == (
        {"event": "configured", "sasl.password": MARK, "more": [{"token": MARK, "n": 1}], "acks": "all"},
        {"event": "said", "message": f"token={MARK} and {MARK}"},
        rows[2],
    )


def test_short_word_of_a_client_is_not_redacted_elsewhere(tmp_path):
    """The password of this client is ``acknowledged``, a word that the harness uses itself."""
    converse(
        (sys.executable, str(TALKER), "errors"), tmp_path, {"a.password": "acknowledged"}, TALKER_TEXT="x"
    )
    assert redaction.text("3 records acknowledged") == "3 records acknowledged"


def test_linked_log_is_not_rewritten(tmp_path):
    target = tmp_path / "target"
    target.write_text(f"password={SECRET}\n")
    (tmp_path / "log").symlink_to(target)
    rewrite(tmp_path / "log", 1_000)
    rewrite(tmp_path, 1_000)
    rewrite(tmp_path / "nowhere", 1_000)
    assert target.read_text() == f"password={SECRET}\n"


def test_only_secrets_of_a_log_are_changed(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"caf\xe9 \x00\x1b[2J\r\npassword=" + SECRET.encode() + b"\n" + b"x" * 100_000)
    rewrite(log, 50_000)
    said = log.read_bytes()
    assert said.startswith(b"caf\xe9 \x00\x1b[2J\r\npassword=[redacted]\n") and 49_000 < len(said) < 50_100


def test_private_key_in_a_log_is_redacted(tmp_path):
    log, lines = tmp_path / "log", "M" * 64 + "\n"
    key = f"-----BEGIN PRIVATE KEY-----\n{500 * lines}-----END PRIVATE KEY-----\n"
    log.write_text(f"it is\n{key}and so on\nand no more\n")
    rewrite(log, 50_000)
    assert log.read_text() == f"it is\n{MARK}\nand so on\nand no more\n"


@pytest.mark.long("a conversation with a process for each text")
@pytest.mark.parametrize("when", ["startup", "refuses", "dies"])
def test_check_adapter_shows_plain_text(when, capsys, tmp_path):
    wrapper = tmp_path / "\x1b]0;y\x07[red]x[nothing]"
    wrapper.write_text(
        f"#!/bin/sh\nexport TALKER_TEXT=\"$(printf '\\033]0;owned\\007\\n::error file=a::b [/]')\"\n"
        f'exec {sys.executable} {TALKER} {when} "$@"\n'
    )
    wrapper.chmod(0o755)
    argv = ["check-adapter", "--case", "startup", "--case", "configuration", "--json"]
    assert call([*argv, "--", str(wrapper), "--password", SECRET]) in (0, 1)
    out, err = capsys.readouterr()
    assert out.isascii() and SECRET not in out and SECRET not in err
    assert all(line.isprintable() for line in err.split("\n")) and not COMMAND.search(err)
    assert r"\x1b]0;y\x07[red]x[nothing]@" in err
