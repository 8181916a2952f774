"""The public API for packages with parts of their own: see :mod:`harness.api`."""

from harness.api import *  # noqa: F403
from harness.api import __all__ as __all__
