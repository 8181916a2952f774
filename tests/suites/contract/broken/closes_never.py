"""Never completes its close."""

from __future__ import annotations

import threading

from polite import Polite
from verifiable import run


class Broken(Polite):
    def close(self, timeout_s):
        threading.Event().wait()


if __name__ == "__main__":
    run(Broken)
