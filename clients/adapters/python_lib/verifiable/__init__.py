"""The client's half of the contract for Python programs: commands come on stdin, events go to stdout.

Standard library only, Python 3.8 and later: a program imports this inside the environment of the client that it
wraps, where nothing of the harness is installed. It supplies an :class:`Adapter` (where the client is one for asyncio,
an :class:`~verifiable.asynchronous.AsyncAdapter`); :func:`run` does the rest.
"""

from __future__ import annotations

from .adapter import Adapter, ConfigRefused
from .output import Result
from .program import run

__all__ = ["Adapter", "ConfigRefused", "Result", "run"]
