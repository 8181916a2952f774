"""Its consumer accepts an invalid value."""

from __future__ import annotations

from polite_consumer import PoliteBoth, PoliteConsumer
from verifiable import run


class Broken(PoliteConsumer):
    def configure(self, config):
        applied, not_set = super().configure({**config, "session.timeout.ms": 6_000})
        return {
            **applied,
            "session.timeout.ms": ("session.timeout.ms", config["session.timeout.ms"]),
        }, not_set


if __name__ == "__main__":
    run(PoliteBoth, Broken)
