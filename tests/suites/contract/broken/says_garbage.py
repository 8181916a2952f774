"""Writes a line to stdout that is not an event. It has no heartbeat, which could come before that line."""

from __future__ import annotations

import os

from polite import Polite
from shows_no_heartbeat import Silent
from verifiable.program import Program

STDOUT = os.dup(1)  # before the library takes over stdout


class Broken(Polite):
    def configure(self, config):
        os.write(STDOUT, b'{"name": "configured", oops\n')
        return super().configure(config)


if __name__ == "__main__":
    Program(Broken(), Silent()).run()
