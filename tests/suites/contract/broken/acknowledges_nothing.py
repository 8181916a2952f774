"""Acknowledges records that no broker received."""

from __future__ import annotations

from polite import Polite
from verifiable import run


class Broken(Polite):
    def send(self, topic, key, value, partition, result):
        result.ok(0, 7)


if __name__ == "__main__":
    run(Broken)
