"""Gives one record two results."""

from __future__ import annotations

from polite import Polite
from verifiable import run


class Broken(Polite):
    def send(self, topic, key, value, partition, result):
        super().send(topic, key, value, partition, result)
        super().send(topic, key, value, partition, result)


if __name__ == "__main__":
    run(Broken)
