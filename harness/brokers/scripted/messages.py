"""kio's classes for responses, one for each version of each API, made from version-independent keywords."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from harness.wire import makers
from harness.wire.messages import message_class


@cache
def maker(api_key: int, version: int, name: str) -> Callable[..., Any]:
    """Return a function that makes the class ``name`` of a response's version: the message or a nested structure.

    Values of fields that the version does not have are ignored.
    """
    module = sys.modules[message_class(api_key, version, "response").__module__]
    made: Callable[..., Any] = makers.maker(getattr(module, name))
    return made
