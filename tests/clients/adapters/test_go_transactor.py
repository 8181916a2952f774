"""The application of a transactional producer in Go: what it does after each error, and what it reports."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from clients.adapters.go_lib import VERIFIABLE
from harness.provision.go import go_tool, run_go

pytestmark = pytest.mark.long("builds a program and starts it for each test")

#: How often the application makes a call whose result stays unknown.
ATTEMPTS = 5
CLOSE = {"cmd": "close", "id": 9, "timeout_ms": 60_000}


@pytest.fixture(scope="module")
def argv(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path]:
    folder = tmp_path_factory.mktemp("tiny")
    module = shutil.copytree(Path(__file__).with_name("go_tiny"), folder / "module")
    shutil.copytree(VERIFIABLE, module / "verifiable")
    (module / "go.mod").write_text("module adapter\n\ngo 1.23\n")
    ended = run_go(go_tool(), "build", "-C", module, "-o", folder / "tiny", ".")
    assert ended.returncode == 0, ended.output
    return (folder / "tiny",)


def command(id: int, end: str, *, flush: bool = False) -> dict[str, Any]:
    first = 2 * id
    records = {"topic": "t", "first": first, "keys": ["k", None], "values": ["a", "b"]}
    return {"cmd": "transact", "id": id, **records, "end": end, "flush": flush}


@pytest.fixture
def transacted(started):
    """Return a function that has transactions performed by a client with this mode, and returns the outcomes.

    They are the result of the last transaction, and each call with its outcome and its error.
    """

    def run(mode: str = "", end: str = "commit", *, times: int = 1, flush: bool = False) -> Any:
        client = started()
        configure = {"cmd": "configure", "id": 1, "config": {"mode": mode}}
        client.send(configure, *(command(id, end, flush=flush) for id in range(2, 2 + times)), CLOSE)
        code, events = client.end()
        assert code == 0
        ended = [each for each in events if each["name"] == "op_complete"]
        last = [each for each in ended if each["op"] == "transact" and each["id"] == 1 + times]
        columns = ("outcome", "error", "records", "partition", "offset")
        rows = {"id": 1 + times, **{name: [row for each in last for row in each[name]] for name in columns}}
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
@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("mode", ["", "partly"])
def test_transaction_ends_as_asked(transacted, mode, end, flush):
    outcome, error, steps, rows = transacted(mode, end, flush=flush, times=2)
    assert (outcome, error) == ("ok", None)
    once = [("begin", "ok", None), (end, "ok", None)]
    assert steps == [("init_transactions", "ok", None), *once, *once]
    assert (rows["partition"], rows["offset"]) == ([1, 0], [2**60, 2**60])


@pytest.mark.parametrize(("end", "outcome"), [("commit", "fail"), ("abort", "ok")])
@pytest.mark.parametrize("call", ["init", "begin"])
def test_producer_that_cannot_begin_is_replaced(transacted, call, end, outcome):
    told, error, steps, _ = transacted(f"{call}=close", end)
    assert (told, error) == (outcome, "close it" if end == "commit" else None)
    assert steps[-1][1:] == ("info", "close it")
    assert [op for op, _, _ in transacted(f"{call}=close", end, times=2)[2]][-3:] == [
        "init_transactions",
        "begin",
        end,
    ]


@pytest.mark.parametrize(
    ("way", "outcome", "step"), [("abort", "fail", "fail"), ("abort-unsure", "info", "info")]
)
def test_commit_that_has_to_be_aborted(transacted, way, outcome, step):
    told, error, steps, _ = transacted(f"commit={way}")
    assert (told, error) == (outcome, way.replace("-", ", ") + " it")
    assert steps[-2:] == [("commit", step, error), ("abort", "ok", None)]


def test_commit_whose_abort_fails_is_unknown(transacted):
    outcome, error, steps, _ = transacted("commit=abort abort=close", times=2)
    assert (outcome, error) == ("ok", None)
    assert [op for op, _, _ in steps] == [
        "init_transactions",
        *("begin", "commit", "abort"),
        *("init_transactions", "begin", "commit"),
    ]
    assert transacted("commit=abort abort=close")[:2] == ("info", "abort it")


def test_commit_of_a_producer_that_can_only_be_closed_is_unknown(transacted):
    outcome, error, steps, _ = transacted("commit=close")
    assert (outcome, error, steps[-1]) == ("info", "close it", ("commit", "info", "close it"))


def test_commit_is_repeated_until_it_has_a_result(transacted):
    outcome, _, steps, _ = transacted("commit=repeat commit=repeat")
    assert outcome == "ok"
    assert [told for op, told, _ in steps if op == "commit"] == ["info", "info", "ok"]


def test_commit_is_not_repeated_for_ever(transacted):
    outcome, _, steps, _ = transacted("commit=repeat " * 2 * ATTEMPTS)
    assert (outcome, [op for op, _, _ in steps].count("commit")) == ("info", ATTEMPTS)


@pytest.mark.parametrize("mode", ["refuses=b", "refuses=b partly"])
@pytest.mark.parametrize(("end", "outcome"), [("commit", "fail"), ("abort", "ok")])
def test_refused_record_is_never_left_out_of_a_commit(transacted, mode, end, outcome):
    told, error, steps, rows = transacted(mode, end)
    assert (told, error, steps[-1][0]) == (outcome, "REFUSED", "abort")
    assert rows["offset"] == [2**60, -1]


def test_signal_ends_the_repetitions(started):
    client = started()
    configure = {"cmd": "configure", "id": 1, "config": {"mode": "commit=repeat " * 100}}
    client.send(configure, command(2, "commit"), command(3, "commit"))
    client.until("op_complete", op="commit_transaction")
    client.process.send_signal(signal.SIGTERM)
    code, events = client.end()
    ended = [each for each in events if each["name"] == "op_complete" and each["op"] == "transact"]
    begun = {each["op"] for each in events if each["name"] == "op_invoke"}
    assert (code, [(each["id"], each["outcome"]) for each in ended]) == (0, [(2, ["info", "info"])])
    assert begun <= {"commit_transaction", "close"}
