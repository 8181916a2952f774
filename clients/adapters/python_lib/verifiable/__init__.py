"""The client's side of the contract for Python programs: commands arrive on stdin, events go to stdout.

It uses only the standard library and supports Python 3.8 and later, because a program imports it inside the
environment of the client that it wraps, where the harness is not installed. A program supplies an :class:`Adapter`, and
a :class:`ConsumerAdapter` if its client has a consumer (for asyncio clients those of ``verifiable.asynchronous``).
:func:`run` does the rest.
"""

from __future__ import annotations

from .adapter import Adapter, ConfigRefused
from .consumer import ConsumerAdapter, Record
from .output import Result
from .program import run

__all__ = ["Adapter", "ConfigRefused", "ConsumerAdapter", "Record", "Result", "run"]
