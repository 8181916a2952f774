"""The interface of a mutant: a client with one seeded defect, which shows that a check can fail."""

from __future__ import annotations

from typing import Protocol

from harness.plugins.client import ClientKind

#: The mutant NAME is also a client that can be put on trial: ``mutant-NAME``.
PREFIX = "mutant-"


class Mutant(Protocol):
    """Entry-point group ``kafka_trial.mutants``: the client ``of`` with one defect.

    The mutant NAME is also the client ``mutant-NAME``, which no default selection contains. ``kafka-trial mutants``
    puts it on trial in virtual time, and ``of`` in the same trials: the mutant must be caught, and ``of`` must not.
    """

    @property
    def of(self) -> str:
        """The name of the client without the defect."""

    @property
    def defect(self) -> str:
        """The defect, as the end of the sentence "the client NAME, which ..."."""

    @property
    def caught_by(self) -> tuple[str, ...]:
        """The names of the checks that must catch it, each by itself.

        A mutant of the reference client may also name properties (``suite/name``).
        """

    @property
    def breaks(self) -> tuple[str, ...]:
        """The ids of the behaviours that the defect itself breaks, without those that break as a consequence."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The names of the scenarios in which its checks catch it. Trials alternate between them."""

    def client(self, name: str) -> ClientKind:
        """Return the client kind with the defect, under this name."""
