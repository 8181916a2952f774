"""A mutant of the reference client: see :mod:`clients.seeding.mutant`."""

from clients.seeding.mutant import Mutant

__all__ = ["Mutant"]
