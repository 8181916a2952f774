"""Ends without an error after a malformed line."""

from __future__ import annotations

import os

from polite import Polite
from verifiable.output import Output
from verifiable.program import Program


class Broken(Program):
    def _fatal(self, error, message, code):
        os._exit(0)


if __name__ == "__main__":
    Broken(Polite(), Output()).run()
