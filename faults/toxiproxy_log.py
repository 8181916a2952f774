"""Which processes used a server's API, from the server's own log: a JSON line for each request, with its user agent.

The API asks for no credentials, and every user of the machine can reach it. We cannot keep them out, but none of them
goes unseen.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.files.log_tail import LogTail

#: So many requests are told; a stranger may send any number.
MOST = 3
TEXT_CHARS = 100


class Requests:
    """The requests in a log that is being written; ours have ``user_agent``."""

    def __init__(self, log: Path, user_agent: str) -> None:
        self._log, self._user_agent = LogTail(log), user_agent

    def of_others(self) -> list[str]:
        """``METHOD URL from CLIENT`` for the first few of those that came since the last call and are not ours."""
        told: list[str] = []
        for line in self._log.new_lines():
            row = _row(line)
            if "request_id" in row and row.get("user_agent", "") != self._user_agent and len(told) < MOST:
                told.append(" ".join(str(row.get(key))[:TEXT_CHARS] for key in ("method", "url")))
                told[-1] += f" from {str(row.get('client'))[:TEXT_CHARS]}"
        return told


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:  # a panic's lines are no JSON
        return {}
    return row if isinstance(row, dict) else {}
