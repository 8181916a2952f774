"""Never completes the close of its consumer."""

from __future__ import annotations

import threading

from polite_consumer import PoliteBoth, PoliteConsumer
from verifiable import closing, run


class Broken(PoliteConsumer):
    def close(self, timeout_s):
        threading.Event().wait()


if __name__ == "__main__":
    closing.Closing._give_up = lambda self: None
    run(PoliteBoth, Broken)
