"""Dies while it sends."""

from __future__ import annotations

import os

from polite import Polite
from verifiable import run


class Broken(Polite):
    def send(self, topic, key, value, partition, result):
        os.write(1, b"segmentation fault, more or less\n")
        os._exit(3)


if __name__ == "__main__":
    run(Broken)
