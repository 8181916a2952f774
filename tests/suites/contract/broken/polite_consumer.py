"""A correct client without Kafka that also consumes: it never finds a broker.

Each broken consumer in this folder differs from it in one respect.
"""

from __future__ import annotations

import time

from polite import Polite
from verifiable import ConfigRefused, ConsumerAdapter, run


class PoliteBoth(Polite):
    features = ("producer", "consumer", "group", "pause")


class PoliteConsumer(ConsumerAdapter):
    def configure(self, config):
        if not isinstance(config.get("session.timeout.ms"), int):
            raise ConfigRefused("session.timeout.ms must be a number")
        return {name: (name, value) for name, value in config.items()}, {}

    def subscribe(self, topics, pattern):
        pass

    def pause(self, places):
        raise LookupError("not assigned")

    resume = pause

    def poll(self, timeout_s):
        time.sleep(timeout_s)
        return []

    def close(self, timeout_s):
        return True


if __name__ == "__main__":
    run(PoliteBoth, PoliteConsumer)
