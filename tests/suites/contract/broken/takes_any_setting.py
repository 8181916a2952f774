"""Accepts an invalid value."""

from __future__ import annotations

from polite import Polite
from verifiable import run


class Broken(Polite):
    def configure(self, config):
        return super().configure({**config, "acks": "all"})


if __name__ == "__main__":
    run(Broken)
