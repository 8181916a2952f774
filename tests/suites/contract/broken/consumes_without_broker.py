"""Reports a record although it has no broker."""

from __future__ import annotations

from polite_consumer import PoliteBoth, PoliteConsumer
from verifiable import Record, run


class Broken(PoliteConsumer):
    def poll(self, timeout_s):
        super().poll(timeout_s)
        return [Record("contract", 0, 0, None, b"value")]


if __name__ == "__main__":
    run(PoliteBoth, Broken)
