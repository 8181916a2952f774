"""Finding other users of a server's API in its log, which has a JSON line with the user agent per request.

The API asks for no credentials, and every user of the machine can reach it. They cannot be kept out, but each of their
requests is detected.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.files.log_tail import LogTail

#: The maximum number of requests to report, since another process may send any number.
MOST = 3
TEXT_CHARS = 100


class Requests:
    """The requests in a log that is being written; ours have ``user_agent``."""

    def __init__(self, log: Path, user_agent: str) -> None:
        self._log, self._user_agent = LogTail(log), user_agent

    def of_others(self) -> list[str]:
        """Return ``METHOD URL from CLIENT`` for the first few foreign requests since the last call."""
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
    except ValueError:  # the lines of a panic are not JSON
        return {}
    return row if isinstance(row, dict) else {}
