"""The commands and events of a Node program, with an adapter whose client misbehaves as a test requires."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clients.adapters.node_lib
from clients.adapters.kafkajs import OLDEST_NODE
from harness.provision.node import node_runtime

pytestmark = pytest.mark.long("starts Node for each test")

INDEX = Path(clients.adapters.node_lib.__file__).parent / "verifiable" / "index.mjs"
CONFIGURE = {"cmd": "configure", "id": 1, "config": {}}
PRODUCE = {"cmd": "produce", "id": 2, "topic": "t", "first": 7, "keys": ["a", None], "values": ["x", "y"]}
FLUSH = {"cmd": "flush", "id": 3, "timeout_ms": 60_000}
CLOSE = {"cmd": "close", "id": 4, "timeout_ms": 60_000}

#: A client that acknowledges. A test adds members to its class to change that.
PROGRAM = """
import {{ Adapter, ConfigRefused, run }} from {index};
const never = new Promise(() => {{}});
class Tiny extends Adapter {{
  client = "tiny";
  clientVersion = "1.0.0";
  async configure(config) {{ return {{ applied: {{}}, notSet: {{}} }}; }}
  async send(topic, records) {{ for (const {{ result }} of records) result.ok(0, 2n ** 60n); }}
  async flush() {{ return true; }}
  async close() {{ return true; }}
}}
class Wanted extends Tiny {{ {wanted} }}
await run(new Wanted());
"""


@pytest.fixture
def started(tmp_path: Path, begin: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that starts a program whose adapter has these members."""

    def start(wanted: str = "") -> Any:
        main = tmp_path / "main.mjs"
        main.write_text(PROGRAM.format(index=json.dumps(INDEX.as_uri()), wanted=wanted))
        return begin(node_runtime(OLDEST_NODE).path, main)

    return start


def test_events_from_startup_to_shutdown(started):
    client = started()
    client.send(CONFIGURE, PRODUCE, FLUSH, CLOSE)
    code, events = client.end()
    names = [event["name"] for event in events if event["name"] != "stats"]
    assert (code, [event["seq"] for event in events]) == (0, list(range(len(events))))
    assert names[:3] == ["startup_complete", "configured", "op_invoke"]
    assert names[-1] == "shutdown_complete"
    [sent] = [event for event in events if event["name"] == "op_complete" and event["op"] == "send"]
    assert (sent["records"], sent["outcome"], sent["offset"]) == ([7, 8], ["ok", "ok"], [2**60] * 2)
    times = [event["mono_ns"] for event in events]
    assert times == sorted(times)


def test_client_output_does_not_reach_stdout(started):
    client = started("async flush() { console.log('oops'); process.stdout.write('oops'); return true; }")
    client.send(CONFIGURE, FLUSH, CLOSE)
    assert client.until("op_complete", op="flush")["outcome"] == ["ok"]
    assert client.end()[0] == 0


def test_sigterm_ends_flush_and_skips_queued_commands(started):
    client = started("async flush() { return never; }")
    client.send(CONFIGURE, FLUSH, PRODUCE)
    client.until("op_invoke", op="flush")
    client.process.send_signal(signal.SIGTERM)
    assert client.until("op_complete", op="flush")["outcome"] == ["fail"]
    code, events = client.end()
    assert (code, events[-1]["name"]) == (0, "shutdown_complete")
    assert not [event for event in events if event.get("op") == "send"]


@pytest.mark.parametrize("command", ["flush", "close"])
def test_hanging_client_fails_at_the_timeout(started, command):
    client = started(f"async {command}() {{ return never; }}")
    client.send(CONFIGURE, {"cmd": command, "id": 9, "timeout_ms": 1})
    assert client.until("op_complete", op=command)["outcome"] == ["fail"]
    assert client.end()[0] == 0


def test_close_reports_missing_results(started):
    client = started("async send() {} async close() { return false; }")
    client.send(CONFIGURE, PRODUCE, CLOSE)
    assert client.until("op_complete", op="close")["outcome"] == ["fail"]
    assert client.end()[0] == 0


@pytest.mark.parametrize(
    ("wanted", "commands", "error"),
    [
        ("async configure() { throw new ConfigRefused('no acks'); }", [CONFIGURE], "ConfigRefused"),
        ("async configure() { return null.applied; }", [CONFIGURE], "TypeError"),
        ("async send() { throw new RangeError('no'); }", [CONFIGURE, PRODUCE], "RangeError"),
        ("async send() { Promise.reject(new RangeError('no')); }", [CONFIGURE, PRODUCE], "RangeError"),
        (
            "async send() { setImmediate(() => { throw new RangeError(); }); }",
            [CONFIGURE, PRODUCE],
            "RangeError",
        ),
        ("", [PRODUCE], "Error"),
        ("", [FLUSH], "Error"),
        ("", [CONFIGURE, CONFIGURE], "Error"),
    ],
)
def test_defect_is_fatal(started, wanted, commands, error):
    client = started(wanted)
    client.send(*commands)
    assert client.until("fatal")["error"] == error
    code, events = client.end()
    assert (code, events) == (1, [])


def test_malformed_command_is_fatal(started):
    client = started()
    client.send({"cmd": "flush", "id": 1})
    assert client.until("fatal")["error"] == "BadCommand"
    assert client.end() == (2, [])


def test_results_are_written_before_a_fatal_error(started):
    client = started("async flush() { throw new RangeError(); }")
    client.send(CONFIGURE, PRODUCE, FLUSH)
    assert client.until("op_complete", op="send")["records"] == [7, 8]
    assert client.until("fatal")["error"] == "RangeError"


def test_closed_stdout_ends_the_program(started):
    client = started()
    client.until("startup_complete")
    client.process.stdout.close()
    assert client.process.wait(60) == 1
