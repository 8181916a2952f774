"""Writes no event."""

from __future__ import annotations

import threading


def wait_for_ever():
    threading.Event().wait()


if __name__ == "__main__":
    wait_for_ever()
