"""What CPython does on its own time: full garbage collections, and turns of its threads.

A full collection stops all threads, for most of a second where much is loaded. What is loaded for good need not be
looked through again.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Trials are judged in threads, beside a loop that asks for the interpreter after each frame; Python's 5 ms, ten times
#: a frame, would hold frames up for longer than the network does.
SWITCH_S: Final = 0.0005


def freeze_loaded() -> None:
    """Spare the collector all that is there now; only for what stays, since garbage among it would stay too."""
    gc.collect()
    gc.freeze()


@contextmanager
def prompt() -> Iterator[None]:
    """Meanwhile no thread waits long for its turn, and no collection looks through what was there before."""
    patience_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    freeze_loaded()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(patience_s)
