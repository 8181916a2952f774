"""The reference client as a library: see :mod:`clients.reference`."""

from clients.reference import *  # noqa: F403
from clients.reference import __all__ as __all__
