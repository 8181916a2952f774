"""The application of a transactional producer in Python: what it does after each error, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clients.adapters.python_lib.verifiable import transactor
from clients.adapters.python_lib.verifiable.adapter import ABORT, CLOSE, REPEAT, Adapter
from clients.adapters.python_lib.verifiable.output import Result
from clients.adapters.python_lib.verifiable.transactor import ATTEMPTS, Transactor


class Failed(Exception):
    """An error of the client, with the way out that it allows."""


class Client(Adapter):
    """A client whose calls fail as ``errors`` say: call -> the ways out, in turn. It refuses some records."""

    def __init__(self, errors: Mapping[str, list[str]] | None = None, refused: tuple[str, ...] = ()):
        self.errors = {call: list(ways) for call, ways in (errors or {}).items()}
        self.refused, self.done = refused, list[str]()

    def _called(self, call: str) -> None:
        self.done.append(call)
        if self.errors.get(call):
            raise Failed(self.errors[call].pop(0))

    def init_transactions(self) -> None:
        self._called("init")

    def begin_transaction(self) -> None:
        self._called("begin")

    def commit_transaction(self) -> None:
        self._called("commit")

    def abort_transaction(self) -> None:
        self._called("abort")

    def renew(self) -> None:
        self.done.append("renew")

    def flush(self, timeout_s: float) -> bool:
        self.done.append("flush")
        return True

    def way_out(self, error: Exception) -> str:
        return str(error.args[0])

    def name_of(self, error: Exception) -> str:
        return f"{error.args[0]} it"

    def send(self, topic: str, key: str | None, value: str, partition: int | None, result: Result) -> None:
        self.done.append(f"send {value}")
        if value in self.refused:
            result.fail("REFUSED")
        else:
            result.ok(0, len(self.done))


class Events:
    """Keeps events."""

    def __init__(self) -> None:
        self.all: list[tuple[str, Mapping[str, Any]]] = []

    def event(self, name: str, fields: Mapping[str, Any], last: bool = False) -> None:
        self.all.append((name, fields))

    @property
    def steps(self) -> list[tuple[str, str, str | None]]:
        """Each call that has ended, with its outcome and its error."""
        return [
            (fields["op"], fields["outcome"][0], fields["error"][0])
            for name, fields in self.all
            if name == "op_complete"
        ]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(transactor, "ERROR_PAUSE_S", 0)


def transacted(client, end="commit", *, flush=False, times=1, hurried=False):
    """Return the outcome and error of the last of some transactions of two records, and the events of all."""
    events = Events()
    application = Transactor(client, events, lambda: hurried)
    command = {"id": 5, "topic": "t", "first": 4, "keys": [None, None], "values": ["a", "b"]}
    for _ in range(times):
        rows = application.transact({**command, "end": end, "flush": flush})
    assert [row[4] for row in rows] == [4, 5]
    assert len({row[:2] for row in rows}) == 1
    return (*rows[0][:2], events)


@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize("flush", [False, True])
def test_transaction_ends_as_asked(end, flush):
    client = Client()
    outcome, error, events = transacted(client, end, flush=flush, times=2)
    assert (outcome, error) == ("ok", None)
    once = ["begin", "send a", "send b", *(["flush"] if flush else []), end]
    assert client.done == ["init", *once, *once]
    assert [op for op, _, _ in events.steps] == [
        "init_transactions",
        *["begin_transaction", f"{end}_transaction"] * 2,
    ]


@pytest.mark.parametrize(("end", "outcome"), [("commit", "fail"), ("abort", "ok")])
@pytest.mark.parametrize("call", ["init", "begin"])
def test_producer_that_cannot_begin_is_replaced(call, end, outcome):
    client = Client({call: [CLOSE]})
    assert transacted(client, end)[0] == outcome
    assert client.done[-1] == "renew"
    assert "send a" not in client.done


def test_commit_that_has_to_be_aborted():
    client = Client({"commit": [ABORT]})
    outcome, error, events = transacted(client)
    assert (outcome, error) == ("fail", "abort it")
    assert client.done[-2:] == ["commit", "abort"]
    assert events.steps[-2:] == [
        ("commit_transaction", "fail", "abort it"),
        ("abort_transaction", "ok", None),
    ]


def test_commit_whose_abort_fails_is_unknown():
    client = Client({"commit": [ABORT], "abort": [CLOSE]})
    assert transacted(client)[:2] == ("info", "abort it")
    assert client.done[-1] == "renew"


def test_commit_of_a_producer_that_can_only_be_closed_is_unknown():
    client = Client({"commit": [CLOSE]})
    assert transacted(client)[:2] == ("info", "close it")
    assert client.done[-1] == "renew"


def test_commit_is_repeated_until_it_has_a_result():
    client = Client({"commit": [REPEAT, REPEAT]})
    outcome, _, events = transacted(client)
    assert outcome == "ok"
    assert [told for op, told, _ in events.steps if op == "commit_transaction"] == ["info", "info", "ok"]


@pytest.mark.parametrize(("hurried", "commits"), [(False, ATTEMPTS), (True, 1)])
def test_commit_is_not_repeated_for_ever(hurried, commits):
    client = Client({"commit": [REPEAT] * 100})
    assert transacted(client, hurried=hurried)[0] == "info"
    assert client.done.count("commit") == commits
    assert client.done[-1] == "renew"


@pytest.mark.parametrize(("end", "outcome"), [("commit", "fail"), ("abort", "ok")])
def test_refused_record_is_never_left_out_of_a_commit(end, outcome):
    client = Client(refused=("a",))
    assert transacted(client, end)[:2] == (outcome, "REFUSED")
    assert client.done[-2:] == ["send a", "abort"]


def test_new_producer_is_initialized_before_the_next_transaction():
    client = Client({"commit": [CLOSE]})
    transacted(client, times=2)
    assert client.done[client.done.index("renew") :][:3] == ["renew", "init", "begin"]


def test_places_are_those_that_the_client_told():
    client = Client(refused=("b",))
    events = Events()
    command = {"id": 5, "topic": "t", "first": 4, "keys": [None, None], "values": ["a", "b"]}
    rows = Transactor(client, events, lambda: False).transact({**command, "end": "commit", "flush": False})
    assert [row[5:] for row in rows] == [(0, 3), (-1, -1)]
