"""Does not close on SIGTERM."""

from __future__ import annotations

from polite import Polite
from verifiable.output import Output
from verifiable.program import Program


class Broken(Program):
    def _hurry(self, number, frame):
        pass


if __name__ == "__main__":
    Broken(Polite(), Output()).run()
