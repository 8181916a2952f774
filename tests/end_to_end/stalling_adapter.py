"""A client program whose I/O thread hangs forever when a connection with a request in flight is lost.

It is not in the list of mutants. It applies no delivery.timeout.ms and writes no trace, and its process continues.
"""

from __future__ import annotations

import threading

from clients.adapters.python_lib.verifiable import run
from clients.adapters.reference.__main__ import ReferenceClient
from clients.reference.telemetry.trace import RequestLost

SETTING = "delivery.timeout.ms"


def hang(event):
    if isinstance(event, RequestLost):
        threading.Event().wait()


class Stalling(ReferenceClient):
    client = "stalling"
    client_version = "1.0"
    features = ("producer", "idempotence")

    def __init__(self):
        super().__init__("", hang)
        self.client = "stalling"

    def configure(self, config):
        applied, not_set = super().configure(config)
        del applied[SETTING]
        return applied, not_set | {SETTING: "it has no such limit"}

    def close(self, timeout_s):
        return False


if __name__ == "__main__":
    run(Stalling)
