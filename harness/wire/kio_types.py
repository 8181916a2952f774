"""kio's types of fields, imported without Hypothesis.

kio registers a Hypothesis strategy for each type if Hypothesis is installed. Importing it would double the time that
the reference client and every command need to start. Nothing here uses these strategies. The packages whose modules
import kio import this module first.
"""

from __future__ import annotations

import sys
from importlib import import_module

HYPOTHESIS = "hypothesis"


def import_alone() -> None:
    """Import the types. If Hypothesis is not loaded yet, it cannot be imported in the meantime."""
    if HYPOTHESIS in sys.modules:
        return
    sys.modules[HYPOTHESIS] = None  # type: ignore[assignment]
    try:
        import_module("kio.static.primitive")
    finally:
        del sys.modules[HYPOTHESIS]


import_alone()
