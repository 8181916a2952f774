"""The names of the files in a run folder."""

from __future__ import annotations

HISTORY, FAULTS, FRAMES, LOG = "history.jsonl", "faults.jsonl", "frames.jsonl", "log.jsonl"
TRACE = "trace.jsonl"
#: The files of a packet capture, if one was requested. The capture process writes both (:mod:`harness.capture`).
CAPTURE, TCP = "capture.pcapng", "tcp.jsonl"
TRIAL, VERDICT, RUN = "trial.json", "verdict.json", "run.json"
#: In a folder of runs: the name of the newest run.
LATEST = "latest"
