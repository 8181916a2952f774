"""Sends no ``stats`` event."""

from __future__ import annotations

from polite import Polite
from verifiable.output import Output
from verifiable.program import Program


class Silent(Output):
    def event(self, name, fields, last=False):
        if name != "stats":
            super().event(name, fields, last)


if __name__ == "__main__":
    Program(Polite(), Silent()).run()
