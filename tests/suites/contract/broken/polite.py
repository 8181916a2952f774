"""A correct client without Kafka: it fails every record when it is flushed or closed.

Each of the broken clients in this folder differs from it in one respect.
"""

from __future__ import annotations

import os

from verifiable import Adapter, ConfigRefused, run


class Polite(Adapter):
    client = "polite"
    client_version = "1.0"

    def configure(self, config):
        if config.get("acks") not in ("all", None):
            raise ConfigRefused("acks must be all")
        os.write(1, b"what a library prints to stdout goes to stderr\n")
        self.owed = []
        return {name: (name, value) for name, value in config.items()}, {}

    def send(self, topic, key, value, partition, result):
        self.owed.append(result)

    def flush(self, timeout_s):
        while self.owed:
            self.owed.pop(0).info("NobodyThere")
        return True

    def close(self, timeout_s):
        return self.flush(timeout_s)


if __name__ == "__main__":
    run(Polite)
