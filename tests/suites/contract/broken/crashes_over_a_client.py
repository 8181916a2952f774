"""Its client library throws where the exception cannot be caught. The contract has a name for that."""

from __future__ import annotations

from polite import Polite
from verifiable import run


class ClientCrashed(Exception):
    """The class name is the one in the contract."""


class Broken(Polite):
    def send(self, topic, key, value, partition, result):
        raise ClientCrashed("out of bounds")


if __name__ == "__main__":
    run(Broken)
