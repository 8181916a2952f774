"""Skips a ``seq`` number."""

from __future__ import annotations

from polite import Polite
from verifiable.output import Output
from verifiable.program import Program


class Skipping(Output):
    def event(self, name, fields, last=False):
        if name == "stats":
            self._seq += 1
        super().event(name, fields, last)


if __name__ == "__main__":
    Program(Polite(), Skipping()).run()
