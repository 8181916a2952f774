"""A client whose every string is what it was asked to say: ``python talker.py WHEN [--password X]``, on a given text.

``TALKER_TEXT`` is the text. WHEN: ``startup``, ``refuses``, ``fatal``, ``crashes``, ``errors``, ``dies``, ``unknown``,
``echoes``. Standard library only.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

TEXT = os.environ.get("TALKER_TEXT", "")
seq = 0


def say(name: str, **fields: Any) -> None:
    global seq
    event = {"name": name, "seq": seq, "mono_ns": time.monotonic_ns(), "wall_ns": time.time_ns(), **fields}
    seq += 1
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def startup() -> None:
    is_it = sys.argv[1] == "startup"
    say(
        "startup_complete",
        client=TEXT if is_it else "talker",
        client_version=TEXT if is_it else "1",
        language=TEXT if is_it else "python",
        features=["producer", "idempotence", *([TEXT] if is_it else [])],
        contract_version=2,
    )


def configured(command: dict[str, Any]) -> None:
    applied = {name: [name, value] for name, value in command["config"].items()}
    not_set = {}
    if sys.argv[1] == "startup":
        applied = {name: [TEXT, value] for name, value in command["config"].items()}
        del applied["linger.ms"]
        not_set["linger.ms"] = TEXT
    say("configured", id=command["id"], applied=applied, not_set=not_set)


def results(command: dict[str, Any]) -> None:
    now, count = time.monotonic_ns(), len(command["values"])
    say("op_invoke", op="send", id=command["id"], first=command["first"], count=count)
    say(
        "op_complete",
        op="send",
        id=command["id"],
        invoke_ns=[now] * count,
        complete_ns=[now] * count,
        records=list(range(command["first"], command["first"] + count)),
        outcome=["info"] * count,
        error=[TEXT] * count,
        partition=[-1] * count,
        offset=[-1] * count,
    )


def answer(command: dict[str, Any]) -> None:
    match command["cmd"], sys.argv[1]:
        case "configure", "refuses":
            say("fatal", error="ConfigRefused", message=TEXT)
        case "configure", _:
            configured(command)
        case "produce", "fatal":
            say("fatal", error=TEXT, message=TEXT)
        case "produce", "crashes":
            say("fatal", error="ClientCrashed", message=TEXT)
        case "produce", "dies":
            sys.stderr.buffer.write(TEXT.encode(errors="surrogatepass"))
            sys.stderr.flush()
            sys.exit(3)
        case "produce", "unknown":
            say(TEXT)
            results(command)
        case "produce", "echoes":
            said = f"{' '.join(sys.argv)} {json.dumps(dict(os.environ))}"
            sys.stderr.write(f"{said}\n")
            say("fatal", error=said, message=said)
        case "produce", _:
            results(command)
        case ("flush" | "close") as op, _:
            now = time.monotonic_ns()
            say("op_invoke", op=op, id=command["id"])
            row = {"outcome": ["ok"], "error": [None], "invoke_ns": [now], "complete_ns": [now]}
            say("op_complete", op=op, id=command["id"], **row)
            if op == "close":
                say("shutdown_complete")
                sys.exit()
        case _:
            say("unsupported", cmd=command["cmd"], id=command.get("id", -1))


if __name__ == "__main__":
    startup()
    for line in sys.stdin:
        answer(json.loads(line))
