"""A correct client without Kafka that also consumes: it never finds a broker.

Each broken consumer in this folder differs from it in one respect.
"""

from __future__ import annotations

import threading

from polite import Polite
from verifiable import ConfigRefused, ConsumerAdapter, run


class PoliteBoth(Polite):
    features = ("producer", "consumer", "group", "pause")


class PoliteConsumer(ConsumerAdapter):
    def configure(self, config):
        if not isinstance(config.get("session.timeout.ms"), int):
            raise ConfigRefused("session.timeout.ms must be a number")
        self.closed = threading.Event()
        return {name: (name, value) for name, value in config.items()}, {}

    def subscribe(self, topics, pattern):
        pass

    def pause(self, places):
        raise LookupError("not assigned")

    resume = pause

    def poll(self, timeout_s):
        self.closed.wait(timeout_s)
        return []

    def close(self, timeout_s):
        self.closed.set()
        return True


if __name__ == "__main__":
    run(PoliteBoth, PoliteConsumer)
