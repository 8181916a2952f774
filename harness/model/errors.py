"""What went wrong, in one sentence, and with which exit code.

Every error that a user can meet derives from :class:`KafkaTrialError`; the command line prints it as one
line (and its hint as another) and exits with its code. Anything else that escapes is a defect of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nsmallest

#: A table that is longer is not told whole, but so many of it.
MANY, HANDFUL = 12, 5
#: Which lists of the command line have the names of a kind.
LISTS = {
    "broker": "brokers",
    "check": "checks",
    "client": "clients|mutants",
    "fault": "faults",
    "id": "clients|mutants|brokers|faults|scenarios|checks",
    "mutant": "mutants",
    "scenario": "scenarios",
}


class KafkaTrialError(Exception):
    """An error with a sentence for the user: ``str(error)``, and what to do about it: ``hint``."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(KafkaTrialError):
    """The user asked for something that does not exist or does not make sense (exit 2)."""

    exit_code = 2


class EnvironmentProblem(KafkaTrialError):
    """The machine lacks something, or refused something, that a run needs (exit 3)."""


class BrokerDied(KafkaTrialError):
    """A broker ended by itself, or never became ready (exit 3)."""


class ClientBroken(KafkaTrialError):
    """A client under test broke the contract: no verdict about Kafka can be drawn from it (exit 3)."""


class ClientCrashed(KafkaTrialError):
    """The client library under test ended its own process: there is nobody left to ask, and that is evidence."""


class NothingSelected(KafkaTrialError):
    """The selection is empty (exit 5): never a pass."""

    exit_code = 5


def code_of(error: KafkaTrialError) -> str:
    """The error's class as a code, such as ``client-broken``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__).lower()


def unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that is not in a table: with a did-you-mean, the table, or some of a long one."""
    names = sorted(map(str, known))
    if close := get_close_matches(name, names, n=1, cutoff=0.6):
        return UsageError(f"unknown {what} {name!r}; did you mean {close[0]!r}?")
    if len(names) <= MANY:
        return UsageError(f"unknown {what} {name!r}; known: {', '.join(names) or 'none'}")
    # The plain ones are short; those that are long are variations of something.
    some = ", ".join(sorted(nsmallest(HANDFUL, names, key=len)))
    hint = f"kafka-trial list {LISTS[what]} shows what there is" if what in LISTS else None
    return UsageError(f"unknown {what} {name!r}; some of {len(names)} are {some}", hint=hint)


def first_of(group: BaseExceptionGroup[BaseException]) -> KafkaTrialError | None:
    """The first error for the user in a task group's exceptions, or None if there is only something else."""
    matching = group.subgroup(KafkaTrialError)
    if matching is None:
        return None
    error: BaseException = matching
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, KafkaTrialError)
    return error
