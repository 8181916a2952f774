"""Control CPython's own pauses: full garbage collections, and the switch interval of its threads.

A full collection stops all threads, for most of a second in a process with many objects. Objects that stay loaded
anyway need not be collected again.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

#: Trials are judged in threads, next to an event loop that needs the interpreter after each frame. Python's default of
#: 5 ms is ten times the duration of a frame, and would delay frames for longer than the network does.
SWITCH_S: Final = 0.0005
#: How many new objects trigger the garbage collector in a process that makes one trial after the other: about those of
#: ten trials, nearly all of which are dead by then.
YOUNG_OBJECTS: Final = 100_000


def freeze_loaded() -> None:
    """Exclude all current objects from garbage collection. Call it only if they stay: garbage among them stays too."""
    gc.collect()
    gc.freeze()


@cache
def collect_rarely() -> None:
    """Make the collector skip everything loaded, and run only once in several trials. Applies once per process."""
    freeze_loaded()
    gc.set_threshold(YOUNG_OBJECTS)


@contextmanager
def prompt() -> Iterator[None]:
    """Keep thread switches fast and exclude existing objects from garbage collection inside the block."""
    patience_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    freeze_loaded()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(patience_s)
