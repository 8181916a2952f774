"""Programs that attack the harness that runs them as clients: ``python hostile_client NAME TOKEN``.

They use the standard library only. Each keeps the contract up to one moment and then makes its attack. Only attacks on
brokers connect to one. Loops have a time limit, in case that nothing else ends them. TOKEN is on each command line.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import consumes  # noqa: F401  # each registers its attacks
import contract
import does  # noqa: F401
import leaves  # noqa: F401
import says  # noqa: F401
import sends  # noqa: F401

#: Written to stderr when the attack begins.
BEGINS = b"it begins\n"


def main(name: str) -> None:
    moment, attack = contract.ATTACKS[name]
    config: dict[str, Any] = {}
    run_id = ""
    if moment == "startup":
        attack({})
    else:
        contract.startup()
    for line in sys.stdin:
        command = json.loads(line)
        config |= command.get("config", {}) | {name: command[name] for name in ("topic",) if name in command}
        run_id = command.get("run_id", run_id)
        if command["cmd"] == moment and not command.get("first"):
            before = contract.seq
            os.write(2, BEGINS)
            attack({**command, "config": config, "run_id": run_id})
            if contract.seq != before:
                continue
        contract.answer(command)


if __name__ == "__main__":
    main(sys.argv[1])
