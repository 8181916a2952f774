"""Never returns from subscribe."""

from __future__ import annotations

import threading

from polite_consumer import PoliteBoth, PoliteConsumer
from verifiable import run


class Broken(PoliteConsumer):
    def subscribe(self, topics, pattern):
        threading.Event().wait()


if __name__ == "__main__":
    run(PoliteBoth, Broken)
