"""Long lines of a trace are searched for secrets in pieces, so that the event loop is not blocked."""

from __future__ import annotations

import json

from harness.adapter import trace_file
from harness.limits.meter import TEXT_CHARS, Meter
from harness.text import redaction


def test_long_lines_are_searched_in_pieces(tmp_path, monkeypatch):
    searched = []
    text = redaction.text

    def noted(said: str) -> str:
        searched.append(len(said))
        return text(said)

    # Only the calls show how long the pieces are, because the result is the same.
    monkeypatch.setattr(redaction, "text", noted)
    path = tmp_path / "trial" / "trace.jsonl"
    path.parent.mkdir()
    row = {"a": "secret_" * 20_000, "b": ["x" * 4_000] * 200, "password": "hunter2"}
    path.write_text(json.dumps(row) + "\n")
    [read] = trace_file.read(path, Meter("hostile", 10))

    assert read["password"] == redaction.MARK and len(read["b"]) == 200
    assert max(searched) < 2 * TEXT_CHARS.base
