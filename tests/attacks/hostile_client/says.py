"""Attacks with output."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from contract import MIB, at, for_a_while, out, results, say, startup


@at("produce")
def floods_lines(_: Any) -> None:
    line = json.dumps({"name": "more"}).encode() + b"\n"
    for _ in for_a_while():
        out(line * 1_000)


@at("produce")
def floods_stderr(_: Any) -> None:
    for _ in for_a_while():
        os.write(2, b"x" * MIB)


@at("produce")
def never_ends_its_line(_: Any) -> None:
    for _ in for_a_while():
        out(b"x" * MIB)


@at("produce")
def nests_deep(_: Any) -> None:
    out(b'{"name": "x", "seq": 0, "more": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n")


@at("produce")
def names_many_events(_: Any) -> None:
    for n in range(5_000):
        out(json.dumps({"name": f"event-{n}"}).encode() + b"\n")


@at("produce")
def names_long_events(_: Any) -> None:
    for n in range(50):
        out(json.dumps({"name": f"{n}" + "x" * 7 * MIB}).encode() + b"\n")


@at("produce")
def speaks_latin_1(_: Any) -> None:
    out(b'{"name": "fatal", "seq": 2, "error": "caf\xe9"}\n')


@at("produce")
def speaks_half_a_surrogate(_: Any) -> None:
    say("fatal", error="half \ud800 of it", message="")


@at("produce")
def says_thirty_megabytes(_: Any) -> None:
    say("fatal", error="Long", message="m" * 30 * MIB)


@at("produce")
def says_seven_megabytes(_: Any) -> None:
    say("fatal", error="Long", message="m" * 7 * MIB)


@at("configure")
def refuses_at_length(_: Any) -> None:
    say("fatal", error="ConfigRefused", message="r" * 7 * MIB)


@at("produce")
def speaks_to_the_terminal(_: Any) -> None:
    say("fatal", error="\x1b]0;owned\x07", message="\x1b[2J\x1b]52;c;cm0gLXJm\x07\n::error file=a::b\n[/red]")


@at("startup")
def features_without_end(_: Any) -> None:
    startup(features=["f"] * 100_000)


@at("configure")
def applies_without_end(command: Any) -> None:
    applied = {name: [name, value] for name, value in command["config"].items()}
    say("configured", id=command["id"], applied=applied, not_set={str(n): "" for n in range(100_000)})


@at("produce")
def offsets_beyond_int64(command: Any) -> None:
    results(command, offset=2**63)


@at("produce")
def offsets_beyond_any(command: Any) -> None:
    results(command, offset=10**400)


@at("produce")
def partitions_beyond_int64(command: Any) -> None:
    results(command, partition=2**64)


@at("produce")
def columns_without_end(command: Any) -> None:
    now = time.monotonic_ns()
    columns = {"outcome": ["ok"] * 100_000, "error": [None] * 100_000}
    say(
        "op_complete",
        op="send",
        id=command["id"],
        **columns,
        invoke_ns=[now],
        complete_ns=[now],
        records=[0],
        partition=[0],
        offset=[0],
    )


@at("produce")
def errors_at_length(command: Any) -> None:
    results(command, outcome="info", error="e" * 100_000)


@at("startup")
def is_somebody_else(_: Any) -> None:
    startup(client="java", client_version="4.3.1")
