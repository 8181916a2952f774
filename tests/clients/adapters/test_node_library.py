"""The library that Node adapters share, run by Node itself."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import clients.adapters.node_lib
from clients.adapters.kafkajs import OLDEST_NODE
from harness.model import contract
from harness.provision.node import node_runtime
from harness.workloads.produce.commands import Produce
from harness.workloads.transactions.commands import Transact

LIBRARY = Path(clients.adapters.node_lib.__file__).parent / "verifiable"
SENT_COLUMNS = ("outcome", "error", "invoke_ns", "complete_ns", "records", "partition", "offset")

#: Runs the body of a function of ``it`` (a file of the library) and ``given``, line by line.
SERVANT = f"""
import {{ encode }} from {json.dumps((LIBRARY / "output.mjs").as_uri())};
import {{ lines }} from {json.dumps((LIBRARY / "commands.mjs").as_uri())};
import {{ writeSync }} from "node:fs";

const AsyncFunction = (async () => {{}}).constructor;
for await (const line of lines(process.stdin)) {{
  const {{ file, body, given }} = JSON.parse(line);
  const it = await import(file);
  writeSync(1, encode(await new AsyncFunction("it", "given", body)(it, given)) + "\\n");
}}
"""

JavaScript = Callable[..., Any]


@pytest.fixture(scope="module")
def javascript() -> Iterator[JavaScript]:
    """Return a function that runs JavaScript with a library file and a value, in one shared Node process."""
    node = node_runtime(OLDEST_NODE).path
    words = [node, "--input-type=module", "-e", SERVANT]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as servant:

        def run(file: str, body: str, given: Any = None) -> Any:
            asked = {"file": (LIBRARY / file).as_uri(), "body": body, "given": given}
            servant.stdin.write(json.dumps(asked).encode() + b"\n")
            servant.stdin.flush()
            return json.loads(servant.stdout.readline())

        yield run


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.mjs")), ids=lambda path: path.name)
def test_library_imports_only_node_modules(path):
    imported = re.findall(r'\bfrom "([^"]+)"', path.read_text())
    assert all(name.startswith(("./", "node:")) for name in imported)


def test_clock_is_the_monotonic_clock(javascript):
    before_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    told_ns = javascript("output.mjs", "return it.monotonicNs()")
    assert before_ns <= told_ns <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def test_integers_keep_all_digits(javascript):
    body = "return { ns: 9007199254740993n, list: [-1, 2n ** 63n - 1n], text: given, no: undefined }"
    told = javascript("output.mjs", body, 'é\u2028"')
    assert told == {"ns": 9007199254740993, "list": [-1, 2**63 - 1], "text": 'é\u2028"', "no": None}


def test_console_output_goes_to_stderr():
    index = json.dumps((LIBRARY / "index.mjs").as_uri())
    code = f"import {index}; console.log('a'); process.stdout.write('b\\n')"
    words = [node_runtime(OLDEST_NODE).path, "--input-type=module", "-e", code]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("", "a\nb\n")


def test_commands_match_the_contract(javascript):
    told = javascript("commands.mjs", "return [...it.COMMANDS]")
    kinds = {
        kind.__struct_config__.tag: kind
        for kind in (contract.Configure, Produce, Transact, contract.Flush, contract.Close)
    }
    assert {name for name, _ in told} == kinds.keys()
    for name, fields in told:
        assert set(fields) <= set(kinds[name].__struct_fields__)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_lines_are_whole_however_they_are_split(javascript, size):
    wanted = ["", "one", "né\u2028t\u0085wo", "", "three\r", "x" * 50]
    body = """
        const data = Buffer.from(given.lines.map((line) => line + "\\n").join("") + "no end");
        async function* cut() {
          for (let at = 0; at < data.length; at += given.size) yield data.subarray(at, at + given.size);
        }
        const got = [];
        for await (const line of it.lines(cut())) got.push(line.toString());
        return got;"""
    assert javascript("commands.mjs", body, {"lines": wanted, "size": size}) == [*wanted, "no end"]


def test_only_complete_commands_are_parsed(javascript):
    whole = [
        {"cmd": "configure", "id": 1, "config": {}},
        {"cmd": "produce", "id": 2, "topic": "t", "first": 0, "keys": [], "values": []},
        {"cmd": "flush", "id": 3, "timeout_ms": 1},
        {"cmd": "close", "id": 4, "timeout_ms": 1},
        {"cmd": "recite_a_poem"},
        {"cmd": "constructor"},
        {"cmd": "__proto__", "id": 5},
    ]
    less = [{key: value for key, value in one.items() if key != left} for one in whole[:4] for left in one]
    wrong = [None, [], "cmd", 3, {"cmd": 3}, {"cmd": None}, {"id": 1}, *less]
    body = "return given.map((line) => it.parse(Buffer.from(line)))"
    told = javascript("commands.mjs", body, [json.dumps(line) for line in [*whole, *wrong]] + ["no JSON", ""])
    assert told == [*whole, *[None] * (len(wrong) + 2)]


def test_invalid_utf8_is_rejected(javascript):
    body = """return it.parse(Buffer.from([...Buffer.from('{"cmd":"'), 0xff, 0x22, 0x7d]))"""
    assert javascript("commands.mjs", body) is None


def test_each_result_is_written_once_as_columns_of_its_command(javascript):
    told = [[n % 3 + 1, ("ok", "fail", "info")[n % 3]] for n in range(20)]
    body = """
        const events = [];
        const results = new it.Results({ event: (name, fields) => events.push({ name, ...fields }) });
        given.forEach(([id, outcome], n) => {
          const result = new it.Result(results, id, n);
          if (outcome === "ok") result.ok(1, BigInt(n));
          else result[outcome]("E");
        });
        const early = events.length;
        results.write();
        results.write();
        return { early, events, count: results.count };"""
    seen = javascript("output.mjs", body, told)
    assert (seen["early"], seen["count"], len(seen["events"])) == (0, len(told), 3)
    rows = []
    for event in seen["events"]:
        assert {"name", "op", "id", *SENT_COLUMNS} == event.keys()
        rows += [(event["id"], *row) for row in zip(*(event[name] for name in SENT_COLUMNS), strict=True)]
    assert sorted((row[5], row[0], row[1]) for row in rows) == [(n, *one) for n, one in enumerate(told)]
    for _, outcome, error, invoke_ns, complete_ns, n, partition, offset in rows:
        assert invoke_ns <= complete_ns
        assert (error, partition, offset) == ((None, 1, n) if outcome == "ok" else ("E", -1, -1))


def test_full_line_is_written_at_once(javascript):
    body = """
        const sizes = [];
        const results = new it.Results({ event: (name, fields) => sizes.push(fields.records.length) });
        for (let n = 0; n <= it.RESULTS_MAX_ROWS; n++) new it.Result(results, 1, n).ok(0, n);
        return [sizes, it.RESULTS_MAX_ROWS];"""
    sizes, most = javascript("output.mjs", body)
    assert sizes == [most]


def test_offsets_follow_from_the_first_offset_of_each_partition(javascript):
    body = "return it.placesOf(given, new Map([[0, 10n], [1, 2n ** 60n], [3, -1n]]))"
    told = javascript("places.mjs", body, [0, 1, 0, 2, 0, 1, 3])
    assert told == [[0, 10], [1, 2**60], [0, 11], [2, -1], [0, 12], [1, 2**60 + 1], [3, -1]]


def test_record_without_partition_makes_all_offsets_unknown(javascript):
    body = "return it.placesOf(given, new Map([[0, 10n]]))"
    assert javascript("places.mjs", body, [0, -1, 0]) == [[-1, -1]] * 3


def test_waiting_ends_at_its_timeout(javascript):
    body = """
        const never = new Promise(() => {});
        const pending = new it.Pending();
        let finish;
        pending.add(new Promise((resolve) => { finish = resolve; }));
        const told = [await it.within(Promise.resolve(7), 60_000), await it.within(never, 1), await pending.done(1)];
        finish();
        return [...told, await pending.done(60_000)];"""
    assert javascript("waiting.mjs", body) == [7, False, False, True]


def test_waiting_passes_errors_on(javascript):
    body = """return it.within(Promise.reject(new Error("no")), 60_000).catch((error) => error.message)"""
    assert javascript("waiting.mjs", body) == "no"


def test_close_waits_for_overlapping_calls_before_disconnecting(javascript):
    body = """
        const seen = [];
        const ends = [];
        class Tiny extends it.PromisingAdapter {
          deliver(topic, records) {
            seen.push(records);
            return new Promise((resolve) => ends.push(resolve));
          }
          async disconnect() {
            seen.push("disconnect");
            throw new Error("what a client says at its end is no defect of its adapter");
          }
        }
        const tiny = new Tiny();
        await tiny.send("t", "first");
        await tiny.send("t", "second");
        const flushed = await tiny.flush(1);
        const closed = tiny.close(60_000);
        const early = [...seen];
        for (const end of ends) end();
        return { flushed, early, closed: await closed, seen };"""
    calls = ["first", "second"]
    told = javascript("promising.mjs", body)
    assert told == {"flushed": False, "early": calls, "closed": True, "seen": [*calls, "disconnect"]}


def test_close_disconnects_although_results_are_missing(javascript):
    body = """
        const never = new Promise(() => {});
        const seen = [];
        class Tiny extends it.PromisingAdapter {
          async deliver() { return never; }
          async disconnect() { seen.push("disconnect"); return never; }
        }
        const tiny = new Tiny();
        await tiny.send("t", []);
        return [await tiny.close(1), ...seen];"""
    assert javascript("promising.mjs", body) == [False, "disconnect"]


def test_records_that_waited_for_their_turn_were_taken_before_it(javascript):
    told = javascript(
        "member.mjs",
        """
        const told = [];
        const output = { event: (name, fields) => told.push(fields.polled_ns) };
        const records = [{ offset: 0n, key: null, value: null }];
        const consumer = { subscribe: async () => {} };
        const reads = new it.Member(consumer, output, () => {});
        await reads.execute({ cmd: "subscribe", id: 1, topics: ["t"] });
        await reads.work({ topic: "t", partition: 0 }, records, () => true, 7n);
        return told.map(Number);
        """,
    )
    assert told == [7]


def test_bounds_of_records_are_right_in_any_order(javascript):
    """A client may begin again within what a turn takes, after it has joined again."""
    told = javascript(
        "member.mjs",
        """
        const told = [];
        const output = { event: (name, fields) => told.push(fields.partitions?.[0]) };
        const records = [7n, 9n, 2n, 3n].map((offset) => ({ offset, key: null, value: null }));
        const reads = new it.Member({ subscribe: async () => {} }, output, () => {});
        await reads.execute({ cmd: "subscribe", id: 1, topics: ["t"] });
        await reads.work({ topic: "t", partition: 0 }, records, () => true, 7n);
        return told.filter(Boolean);
        """,
    )
    assert [(each["minOffset"], each["maxOffset"], each["offsets"]) for each in told] == [
        (2, 9, [7, 9, 2, 3])
    ]


@pytest.mark.parametrize(("can_seek", "sought"), [(True, [["p", 4]]), (False, [])])
def test_records_that_could_not_be_committed_first_are_not_processed(javascript, can_seek, sought):
    body = """
const { Unsupported } = await import(new URL("./consumer.mjs", given.url));
const [events, sought] = [[], []];
let fails = true;
const consumer = {
  subscribe: async () => {},
  commit: async () => {
    if (fails) throw new Error("unlucky");
  },
  seek: async ({ partition, offset }) => {
    if (!given.can_seek) throw new Unsupported();
    sought.push([partition, Number(offset)]);
  },
  describe: ({ message }) => ({ name: message, retriable: null }),
};
const output = { event: (name, fields) => events.push([name, fields.success ?? null]) };
const member = new it.Member(consumer, output, () => {});
await member.execute({ cmd: "subscribe", id: 2, topics: ["t"], commit: "sync-first" });
const place = { topic: "t", partition: "p" };
const records = [4n, 5n].map((offset) => ({ offset, key: null, value: null }));
const began = performance.now();
const first = await member.work(place, records);
const paused = performance.now() - began >= 99; // a timer of Node may fire within its last millisecond
fails = false;
const second = await member.work(place, records);
return { first, second, sought, paused, events };
"""
    given = {"can_seek": can_seek, "url": (LIBRARY / "member.mjs").as_uri()}
    assert javascript("member.mjs", body, given) == {
        "first": False,
        "second": True,
        "sought": sought,
        "paused": True,
        "events": [
            ["offsets_committed", False],
            ["consumer_error", None],
            ["offsets_committed", True],
            ["records_consumed", None],
        ],
    }
