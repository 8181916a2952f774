"""A client that keeps the contract: what it writes at each moment. Standard library only."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB = 2**20
ENOUGH_S = 300
ATTACKS: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {}
FEATURES = ["producer", "idempotence", "group"]

seq = 0


def at(moment: str) -> Callable[[Callable[[dict[str, Any]], object]], Callable[[dict[str, Any]], object]]:
    """Register the function as the attack of its name. It gets the command of this moment and the settings."""

    def register(attack: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
        ATTACKS[attack.__name__] = (moment, attack)
        return attack

    return register


def out(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def say(name: str, **fields: Any) -> None:
    global seq
    event = {"name": name, "seq": seq, "mono_ns": time.monotonic_ns(), "wall_ns": time.time_ns(), **fields}
    seq += 1
    out(json.dumps(event).encode() + b"\n")


def for_a_while() -> Any:
    until = time.monotonic() + ENOUGH_S
    while time.monotonic() < until:
        yield


def trace() -> Path:
    return Path(os.environ["KAFKA_TRIAL_TRACE"])


def startup(**instead: Any) -> None:
    about = {"client": "hostile", "client_version": "1", "language": "python", "features": FEATURES}
    say("startup_complete", **{**about, "contract_version": 2, **instead})


def configured(command: dict[str, Any]) -> None:
    applied = {name: [name, value] for name, value in command["config"].items()}
    say("configured", id=command["id"], applied=applied, not_set={})


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


def results(command: dict[str, Any], **instead: Any) -> None:
    now, count = time.monotonic_ns(), len(command["values"])
    columns = {"outcome": "info", "error": None, "partition": -1, "offset": -1, **instead}
    say("op_invoke", op="send", id=command["id"], first=command["first"], count=count)
    say(
        "op_complete",
        op="send",
        id=command["id"],
        invoke_ns=[now] * count,
        complete_ns=[now] * count,
        records=list(range(command["first"], command["first"] + count)),
        **{name: [value] * count for name, value in columns.items()},
    )


def answer(command: dict[str, Any]) -> None:
    match command["cmd"]:
        case "configure":
            configured(command)
        case "produce":
            results(command)
        case op:
            now = time.monotonic_ns()
            say("op_invoke", op=op, id=command["id"])
            row = {"outcome": ["ok"], "error": [None], "invoke_ns": [now], "complete_ns": [now]}
            say("op_complete", op=op, id=command["id"], **row)
            if op == "close":
                say("shutdown_complete")
                sys.exit()
