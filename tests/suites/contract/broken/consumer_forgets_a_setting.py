"""Does not report one setting of its consumer."""

from __future__ import annotations

from polite_consumer import PoliteBoth, PoliteConsumer
from verifiable import run


class Broken(PoliteConsumer):
    def configure(self, config):
        applied, not_set = super().configure(config)
        del applied["group.id"]
        return applied, not_set


if __name__ == "__main__":
    run(PoliteBoth, Broken)
