"""The life of a Node program, with an adapter whose client does as a test wants."""

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

#: A client that acknowledges; what a test wants otherwise is added to its class.
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
def live(tmp_path: Path, begin: Callable[..., Any]) -> Callable[..., Any]:
    """Begin the life of a program with an adapter that has these members."""

    def start(wanted: str = "") -> Any:
        main = tmp_path / "main.mjs"
        main.write_text(PROGRAM.format(index=json.dumps(INDEX.as_uri()), wanted=wanted))
        return begin(node_runtime(OLDEST_NODE).path, main)

    return start


def test_a_whole_life(live):
    life = live()
    life.say(CONFIGURE, PRODUCE, FLUSH, CLOSE)
    code, events = life.end()
    names = [event["name"] for event in events if event["name"] != "stats"]
    assert (code, [event["seq"] for event in events]) == (0, list(range(len(events))))
    assert names[:3] == ["startup_complete", "configured", "op_invoke"]
    assert names[-1] == "shutdown_complete"
    [sent] = [event for event in events if event["name"] == "op_complete" and event["op"] == "send"]
    assert (sent["records"], sent["outcome"], sent["offset"]) == ([7, 8], ["ok", "ok"], [2**60] * 2)
    times = [event["mono_ns"] for event in events]
    assert times == sorted(times)


def test_what_the_client_prints_is_no_event(live):
    life = live("async flush() { console.log('oops'); process.stdout.write('oops'); return true; }")
    life.say(CONFIGURE, FLUSH, CLOSE)
    assert life.until("op_complete", op="flush")["outcome"] == ["ok"]
    assert life.end()[0] == 0


def test_a_signal_ends_a_flush_and_what_is_queued_behind_it(live):
    life = live("async flush() { return never; }")
    life.say(CONFIGURE, FLUSH, PRODUCE)
    life.until("op_invoke", op="flush")
    life.process.send_signal(signal.SIGTERM)
    assert life.until("op_complete", op="flush")["outcome"] == ["fail"]
    code, events = life.end()
    assert (code, events[-1]["name"]) == (0, "shutdown_complete")
    assert not [event for event in events if event.get("op") == "send"]


@pytest.mark.parametrize("command", ["flush", "close"])
def test_a_client_that_hangs_is_not_waited_for(live, command):
    life = live(f"async {command}() {{ return never; }}")
    life.say(CONFIGURE, {"cmd": command, "id": 9, "timeout_ms": 1})
    assert life.until("op_complete", op=command)["outcome"] == ["fail"]
    assert life.end()[0] == 0


def test_a_close_tells_that_something_is_owed(live):
    life = live("async send() {} async close() { return false; }")
    life.say(CONFIGURE, PRODUCE, CLOSE)
    assert life.until("op_complete", op="close")["outcome"] == ["fail"]
    assert life.end()[0] == 0


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
def test_a_defect_is_fatal(live, wanted, commands, error):
    life = live(wanted)
    life.say(*commands)
    assert life.until("fatal")["error"] == error
    code, events = life.end()
    assert (code, events) == (1, [])


def test_a_line_that_is_no_command_is_fatal_too(live):
    life = live()
    life.say({"cmd": "flush", "id": 1})
    assert life.until("fatal")["error"] == "BadCommand"
    assert life.end() == (2, [])


def test_results_are_told_before_a_fatal_end(live):
    life = live("async flush() { throw new RangeError(); }")
    life.say(CONFIGURE, PRODUCE, FLUSH)
    assert life.until("op_complete", op="send")["records"] == [7, 8]
    assert life.until("fatal")["error"] == "RangeError"


def test_nobody_listens_any_more(live):
    life = live()
    life.until("startup_complete")
    life.process.stdout.close()
    assert life.process.wait(60) == 1
