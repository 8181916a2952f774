"""Writes one line without a line break."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    while True:
        sys.stdout.write("x" * 2**20)
