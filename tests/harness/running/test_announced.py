"""The version that a program announces is the client's, from the plan on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from harness.cli.main import call
from harness.model.spec import OWN, ClientRef
from harness.planning import own_commands, typed_settings
from harness.running.announced import with_versions
from testkit.codes import has_error

ANNOUNCES = """
import json, os, sys, time
print(json.dumps({"name": "startup_complete", "seq": 0, "mono_ns": time.monotonic_ns(), "wall_ns": 0, "client": "tiny",
    "client_version": VERSION, "language": "python", "features": ["producer"], "contract_version": 2}), flush=True)
sys.stdin.read()
"""


def announcing(version: str) -> list[str]:
    return [sys.executable, "-c", ANNOUNCES.replace("VERSION", version)]


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("'2.8.2'", "2.8.2"),
        ("'1.0.0-rc.1+b_2'", "1.0.0-rc.1+b_2"),
        ("''", OWN),
        ("'4.3.1 fake'", OWN),
        ("'x' * 41", OWN),
        ("1/0", OWN),
    ],
)
def test_a_command_has_the_version_that_it_announces(version: str, told: str) -> None:
    ref = own_commands.client(announcing(version), "tiny")
    assert [str(each) for each in with_versions([ref])] == [f"tiny@{told}"]


def test_a_silent_program_keeps_the_usual_version_and_registered_clients_are_not_started() -> None:
    silent = own_commands.client([sys.executable, "-c", "import sys; sys.stdin.read()"], "tiny")
    named = ClientRef("no-such-client", "1")
    assert with_versions([silent, named], patience_s=0.2) == [silent, named]


def test_a_program_is_asked_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ref = own_commands.client(announcing("__import__('os').path.basename(os.getcwd())"), "tiny")
    monkeypatch.chdir("/")
    [told] = with_versions([ref])
    assert told.version == tmp_path.name


def planned(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, list[dict], str]:
    code = call(["run", "produce/calm", "-g", "idempotent", *argv])
    out, err = capsys.readouterr()
    return code, json.loads(out)["trials"] if out else [], err


def test_a_plan_has_the_given_name_and_the_announced_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, trials, _ = planned(capsys, "--name", "tiny", "--dry-run", "--json", "--", *announcing("'2.8.2'"))
    assert code == 0 and [each["trial"] for each in trials] == [
        "produce-calm-idempotent-tiny@2.8.2-local-4.3.1x1-s1"
    ]
    assert trials[0]["client"]["folder"] == str(Path.cwd())


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--name", "java", "--", sys.executable], "command-under-registered-name"),
        (["--name", "a b", "--", sys.executable], "own-name"),
        (["--name", "a@1", "--", sys.executable], "own-name"),
        (["--name", "tiny"], "name-without-command"),
    ],
)
def test_a_name_must_be_free_and_belong_to_a_command(argv: list[str], code: str, capsys) -> None:
    assert planned(capsys, "--dry-run", *argv)[0] == 2
    assert has_error(planned(capsys, "--dry-run", *argv)[2], code)


def test_typed_commands_stay_known_under_their_version() -> None:
    [ref] = with_versions([own_commands.client(announcing("'3'"), "tiny")])
    assert typed_settings.is_typed(ref)
