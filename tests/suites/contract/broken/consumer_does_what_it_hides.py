"""Obeys a command whose feature it does not declare."""

from __future__ import annotations

from polite_consumer import PoliteBoth, PoliteConsumer
from verifiable import member, run


class Broken(PoliteConsumer):
    def seek(self, place, offset):
        pass


if __name__ == "__main__":
    member.NEEDS["seek"] = "group"
    run(PoliteBoth, Broken)
