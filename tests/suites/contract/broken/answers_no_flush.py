"""Never answers a flush."""

from __future__ import annotations

import threading

from polite import Polite
from verifiable import run


class Broken(Polite):
    def flush(self, timeout_s):
        threading.Event().wait()


if __name__ == "__main__":
    run(Broken)
