"""Its client library throws where nobody can catch it: the contract has a name for that."""

from __future__ import annotations

from polite import Polite
from verifiable import run


class ClientCrashed(Exception):
    """Its class is what the contract calls it."""


class Broken(Polite):
    def send(self, topic, key, value, partition, result):
        raise ClientCrashed("out of bounds")


if __name__ == "__main__":
    run(Broken)
