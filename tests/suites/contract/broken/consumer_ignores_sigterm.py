"""Continues after SIGTERM while it consumes."""

from __future__ import annotations

import signal

from polite_consumer import PoliteBoth, PoliteConsumer
from verifiable import run


class Broken(PoliteConsumer):
    def subscribe(self, topics, pattern):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


if __name__ == "__main__":
    run(PoliteBoth, Broken)
