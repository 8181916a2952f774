"""The names of the files in a run folder."""

from __future__ import annotations

HISTORY, FAULTS, FRAMES, LOG = "history.jsonl", "faults.jsonl", "frames.jsonl", "log.jsonl"
TRACE = "trace.jsonl"
#: What the capture leaves where one was asked for; its own process writes both (:mod:`harness.capture`).
CAPTURE, TCP = "capture.pcapng", "tcp.jsonl"
TRIAL, VERDICT, RUN = "trial.json", "verdict.json", "run.json"
#: In a folder of runs: the name of the newest.
LATEST = "latest"
