"""The application of a transactional producer in Node: what it does after each error, and what it reports."""

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
#: How often the application makes a call whose result stays unknown.
ATTEMPTS = 5
CONFIGURE = {"cmd": "configure", "id": 1, "config": {}}
CLOSE = {"cmd": "close", "id": 9, "timeout_ms": 60_000}

#: A client whose calls fail as ``failing`` says: [call, way out], in turn. It refuses the records ``refused``.
PROGRAM = """
import {{ Adapter, run, TransactionalAdapter }} from {index};
const {{ failing, refused, limitMs }} = {given};
async function called(call) {{
  console.error("call", call);
  const index = failing.findIndex(([each]) => each === call);
  if (index < 0) return;
  const [[, way]] = failing.splice(index, 1);
  if (way === "never") await new Promise(() => {{}});
  throw Object.assign(new Error(way), {{ name: `${{way}} it` }});
}}
class Transactions extends TransactionalAdapter {{
  limitMs = limitMs ?? Infinity;
  async beginTransaction() {{ await called("begin"); }}
  async commitTransaction() {{ await called("commit"); }}
  async abortTransaction() {{ await called("abort"); }}
  async renew() {{ called("renew"); }}
  wayOut(error) {{ return error.message; }}
}}
class Tiny extends Adapter {{
  client = "tiny";
  clientVersion = "1.0.0";
  features = ["producer", "transactions"];
  transactions = new Transactions();
  async configure() {{ return {{ applied: {{}}, notSet: {{}} }}; }}
  async send(topic, records) {{
    for (const {{ value, result }} of records)
      if (refused.includes(value)) result.fail("REFUSED");
      else result.ok(0, 2n ** 60n);
  }}
  async flush() {{ return true; }}
  async close() {{ return true; }}
}}
await run(new Tiny());
"""


def command(id: int, end: str) -> dict[str, Any]:
    first = 2 * id
    records = {"topic": "t", "first": first, "keys": ["k", None], "values": ["a", "b"]}
    return {"cmd": "transact", "id": id, **records, "end": end, "flush": False}


@pytest.fixture
def started(tmp_path: Path, begin: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that starts a program whose client fails like this."""

    def start(*failing: str, refused: tuple[str, ...] = (), limit_ms: int | None = None) -> Any:
        calls = [each.split("=") for each in failing]
        given = json.dumps({"failing": calls, "refused": refused, "limitMs": limit_ms})
        main = tmp_path / "main.mjs"
        main.write_text(PROGRAM.format(index=json.dumps(INDEX.as_uri()), given=given))
        return begin(node_runtime(OLDEST_NODE).path, main)

    return start


@pytest.fixture
def transacted(started):
    """Return a function that has transactions performed, and returns the last result, and each call with its own."""

    def run(*failing: str, end: str = "commit", times: int = 1, **more: Any) -> Any:
        client = started(*failing, **more)
        client.send(CONFIGURE, *(command(id, end) for id in range(2, 2 + times)), CLOSE)
        code, events = client.end()
        assert code == 0
        ended = [each for each in events if each["name"] == "op_complete"]
        [*_, rows] = [each for each in ended if each["op"] == "transact"]
        assert len({*zip(rows["outcome"], rows["error"], strict=True)}) == 1
        assert rows["records"] == [2 * rows["id"], 2 * rows["id"] + 1]
        steps = [
            (each["op"].removesuffix("_transaction"), each["outcome"][0], each["error"][0])
            for each in ended
            if each["op"] not in ("transact", "close")
        ]
        return rows["outcome"][0], rows["error"][0], steps, rows

    return run


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_transaction_ends_as_asked(transacted, end):
    outcome, error, steps, rows = transacted(end=end, times=2)
    assert (outcome, error) == ("ok", None)
    assert steps == [("begin", "ok", None), (end, "ok", None)] * 2
    assert (rows["partition"], rows["offset"]) == ([0, 0], [2**60, 2**60])


@pytest.mark.parametrize(("end", "outcome"), [("commit", "fail"), ("abort", "ok")])
def test_producer_that_cannot_begin_is_replaced(transacted, end, outcome):
    told, error, steps, _ = transacted("begin=close", end=end)
    assert (told, error) == (outcome, "close it" if end == "commit" else None)
    assert steps == [("begin", "info", "close it")]
    assert [op for op, _, _ in transacted("begin=close", end=end, times=2)[2]] == ["begin", "begin", end]


@pytest.mark.parametrize(("way", "outcome"), [("abort", "fail"), ("abort, unsure", "info")])
def test_commit_that_has_to_be_aborted(transacted, way, outcome):
    told, error, steps, _ = transacted(f"commit={way}")
    assert (told, error) == (outcome, f"{way} it")
    assert steps[-2:] == [("commit", outcome, error), ("abort", "ok", None)]


@pytest.mark.parametrize("failing", [("commit=close",), ("commit=abort", "abort=close")])
def test_commit_of_which_nothing_is_certain_is_unknown(transacted, failing):
    assert transacted(*failing)[0] == "info"


def test_commit_is_repeated_until_it_has_a_result(transacted):
    outcome, _, steps, _ = transacted("commit=repeat", "commit=repeat")
    assert outcome == "ok"
    assert [told for op, told, _ in steps if op == "commit"] == ["info", "info", "ok"]


def test_commit_is_not_repeated_for_ever(transacted):
    outcome, _, steps, _ = transacted(*["commit=repeat"] * 2 * ATTEMPTS)
    assert (outcome, [op for op, _, _ in steps].count("commit")) == ("info", ATTEMPTS)


def test_commit_that_does_not_return_is_unknown(transacted):
    outcome, error, steps, _ = transacted("commit=never", limit_ms=50)
    assert (outcome, error) == ("info", "the client did not return")
    assert steps[-1] == ("commit", "info", error)


@pytest.mark.parametrize(("end", "outcome"), [("commit", "fail"), ("abort", "ok")])
def test_refused_record_is_never_left_out_of_a_commit(transacted, end, outcome):
    told, error, steps, rows = transacted(end=end, refused=("b",))
    assert (told, error, steps[-1][0]) == (outcome, "REFUSED", "abort")
    assert rows["offset"] == [2**60, -1]


def test_signal_ends_a_call_that_does_not_return(started):
    client = started("commit=never")
    client.send(CONFIGURE, command(2, "commit"), command(3, "commit"))
    client.until("op_invoke", op="commit_transaction")
    client.process.send_signal(signal.SIGTERM)
    code, events = client.end()
    ended = [each for each in events if each["name"] == "op_complete" and each["op"] == "transact"]
    assert (code, [(each["id"], each["outcome"]) for each in ended]) == (0, [(2, ["info", "info"])])
