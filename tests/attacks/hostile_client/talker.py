"""A client whose every string is a given text: ``python talker.py WHEN [--password X]``.

``TALKER_TEXT`` is the text. WHEN: ``startup``, ``refuses``, ``fatal``, ``crashes``, ``errors``, ``dies``, ``unknown``,
``echoes``. Standard library only. ``contract.py`` has the rest of the contract.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import contract
from contract import results, say

TEXT = os.environ.get("TALKER_TEXT", "")


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
    applied = {name: [TEXT, value] for name, value in command["config"].items()}
    del applied["linger.ms"]
    say("configured", id=command["id"], applied=applied, not_set={"linger.ms": TEXT})


def answer(command: dict[str, Any]) -> None:
    match command["cmd"], sys.argv[1]:
        case "configure", "startup":
            configured(command)
        case "configure", "refuses":
            say("fatal", error="ConfigRefused", message=TEXT)
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
            results(command, error=TEXT)
        case "produce", "echoes":
            said = f"{' '.join(sys.argv)} {json.dumps(dict(os.environ))}"
            sys.stderr.write(f"{said}\n")
            say("fatal", error=said, message=said)
        case "produce", _:
            results(command, error=TEXT)
        case "configure" | "flush" | "close", _:
            contract.answer(command)
        case _:
            say("unsupported", cmd=command["cmd"], id=command.get("id", -1))


if __name__ == "__main__":
    startup()
    for line in sys.stdin:
        answer(json.loads(line))
