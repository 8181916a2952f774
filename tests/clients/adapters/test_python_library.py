"""The library that Python adapters share. It must run on Python 3.8, without the harness."""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clients.adapters.confluent_kafka
import clients.adapters.python_lib.verifiable
from clients.adapters.python_lib.verifiable.commands import COMMANDS, lines, parse
from clients.adapters.python_lib.verifiable.output import RESULTS_MAX_ROWS, Result, Results
from harness.model import contract
from harness.workloads.produce.commands import Produce
from harness.workloads.transactions.commands import Transact

LIBRARY = Path(clients.adapters.python_lib.verifiable.__file__).parent
ADAPTER = Path(clients.adapters.confluent_kafka.__file__).parent
OWN = [path for path in sorted(ADAPTER.glob("*.py")) if path.name != "__init__.py"]
SHIPPED = [*sorted(LIBRARY.glob("*.py")), *OWN]
ALLOWED = {*sys.stdlib_module_names, "confluent_kafka", "verifiable", *(path.stem for path in OWN)}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_shipped_file_needs_only_python_3_8(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    assert tree.body[1].module == "__future__"
    for node in _runtime(tree):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= ALLOWED
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert node.module.split(".")[0] in ALLOWED


def _runtime(node: ast.AST):
    """Return all nodes except those for type checkers."""
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        for child in node.orelse:
            yield from _runtime(child)
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _runtime(child)


def test_commands_match_the_contract():
    kinds = {
        kind.__struct_config__.tag: kind
        for kind in (
            contract.Configure,
            Produce,
            Transact,
            contract.Flush,
            contract.Close,
            *contract.ConsumerCommand.__args__,
        )
    }
    assert kinds.keys() == COMMANDS.keys()
    for name, fields in COMMANDS.items():
        assert set(fields) <= set(kinds[name].__struct_fields__)


@given(st.lists(st.binary(max_size=50).filter(lambda line: b"\n" not in line)), st.integers(1, 7))
def test_lines_are_whole_however_they_are_split(wanted, size):
    read, write = os.pipe()
    data = b"".join(line + b"\n" for line in wanted)
    try:
        got = _read_in_pieces(read, write, data, size)
    finally:
        os.close(read)
    assert got == wanted


def _read_in_pieces(read: int, write: int, data: bytes, size: int) -> list[bytes]:
    """Write a pipe piece by piece, and read every line as soon as it is complete."""
    source = lines(read)
    got: list[bytes] = []
    for start in range(0, len(data), size):
        piece = data[start : start + size]
        os.write(write, piece)
        got += [next(source) for _ in range(piece.count(b"\n"))]
    os.close(write)
    return got + list(source)


def test_last_line_needs_no_line_break():
    read, write = os.pipe()
    os.write(write, b"one\ntwo")
    os.close(write)
    assert list(lines(read)) == [b"one", b"two"]
    os.close(read)


@given(st.one_of(st.binary(), st.text().map(str.encode), st.from_regex(rb"\{.*\}")))
def test_parse_returns_a_command_or_none(line):
    command = parse(line)
    assert command is None or isinstance(command["cmd"], str)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_without_a_field_is_rejected(name):
    command = {"cmd": name, **dict.fromkeys(COMMANDS[name], 0)}
    assert parse(json.dumps(command).encode()) == command
    for field in COMMANDS[name]:
        less = {key: value for key, value in command.items() if key != field}
        assert parse(json.dumps(less).encode()) is None


class FakeOutput:
    """Keeps events instead of writing them."""

    def __init__(self) -> None:
        self.events: list[dict] = []

    def event(self, name, fields, last=False):
        self.events.append({"name": name, **fields})


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["ok", "fail", "info"])), max_size=60))
def test_each_result_is_written_once_as_columns_of_its_command(told):
    output = FakeOutput()
    results = Results(output)
    for n, (id, outcome) in enumerate(told):
        result = Result(results, id, n)
        if outcome == "ok":
            result.ok(1, n)
        else:
            getattr(result, outcome)("E")
    results.write()
    seen = sorted(
        (n, event["id"], outcome)
        for event in output.events
        for n, outcome in zip(event["records"], event["outcome"], strict=True)
    )
    assert seen == [(n, id, outcome) for n, (id, outcome) in enumerate(told)]
    assert results.count == len(told)


def test_full_line_is_written_at_once():
    output = FakeOutput()
    results = Results(output)
    for n in range(RESULTS_MAX_ROWS):
        assert output.events == []
        Result(results, 1, n).ok(0, n)
    [event] = output.events
    assert len(event["records"]) == RESULTS_MAX_ROWS
