"""franz-go, a client in pure Go: any published version, built into a separate program."""

from __future__ import annotations

from pathlib import Path

from clients.adapters.go_lib import GoClient

CLIENT = GoClient(
    name="franz-go",
    summary="franz-go, Kafka in pure Go",
    default_version="1.22.2",
    versions=("1.0.0", "1.7.0", "1.14.0", "1.18.1", "1.20.7", "1.22.2"),
    folder=Path(__file__).parent,
    modules=(("github.com/twmb/franz-go", "1.0.0"),),
    since=("1.4", "1.6", "1.7", "1.15", "1.19", "1.21", "1.21.6", "1.22"),
)
