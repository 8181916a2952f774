"""kio's classes for answers, one for each version of each API; made from keywords that not every version has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from harness.wire import makers
from harness.wire.messages import message_class


@cache
def maker(api_key: int, version: int, name: str) -> Callable[..., Any]:
    """Makes the class ``name`` of a response's version: the message itself, or a structure in it.

    Values of fields that the version does not have are left out.
    """
    module = sys.modules[message_class(api_key, version, "response").__module__]
    made: Callable[..., Any] = makers.maker(getattr(module, name))
    return made
