"""The errors that a user can see: a one-sentence message and an exit code each.

Every such error derives from :class:`KafkaTrialError`. The command line prints the message on one line and the hint on
another, and exits with the error's code. Any other exception that escapes is a defect of the harness.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from heapq import nsmallest
from typing import Self

from harness.text.sentences import Coded

#: Of a table with more than MANY names, a message lists only HANDFUL.
MANY, HANDFUL = 12, 5
#: The arguments of ``kafka-trial list`` that show the names of each kind.
LISTS = {
    "broker": "brokers",
    "check": "checks",
    "client": "clients|mutants",
    "fault": "faults",
    "id": "clients|mutants|brokers|faults|scenarios|checks",
    "mutant": "mutants",
    "scenario": "scenarios",
}


class KafkaTrialError(Coded):
    """An error for the user: ``str(error)`` is the message, and ``hint`` says how to resolve it.

    ``code`` and ``params`` are those of :class:`harness.text.sentences.Coded`.
    """

    exit_code = 3

    def __init__(self, code: str, template: str, /, *, hint: str | None = None, **params: object) -> None:
        super().__init__(code, template, **params)
        self.hint = hint


class UsageError(KafkaTrialError):
    """The user asked for something that does not exist or does not make sense (exit 2)."""

    exit_code = 2


class EnvironmentProblem(KafkaTrialError):
    """The machine lacks or refused something that a run needs (exit 3)."""


class BrokerDied(KafkaTrialError):
    """A broker process ended unexpectedly, or never became ready (exit 3)."""


class ClientBroken(KafkaTrialError):
    """A client under test broke the contract, so its trial gives no verdict about Kafka (exit 3)."""


class ClientCrashed(KafkaTrialError):
    """The client library under test ended its own process. This is evidence."""


class Problems(UsageError):
    """Several errors of one file. Each is printed on its own line."""

    def __init__(self, errors: Sequence[KafkaTrialError]) -> None:
        super().__init__("several-errors", "{errors}", errors=tuple(errors))
        self.errors = tuple(errors)

    def at(self, where: str) -> Self:
        """Add the place to each of the errors."""
        for error in self.errors:
            error.at(where)
        return self


class NothingSelected(KafkaTrialError):
    """The selection is empty (exit 5). This is never a pass."""

    exit_code = 5


class Collecting:
    """Collects the usage errors of several blocks, so that a user sees all of them at once."""

    def __init__(self) -> None:
        self._errors: list[KafkaTrialError] = []

    @contextmanager
    def each(self) -> Iterator[None]:
        """Keep a usage error of the block, or an empty selection, and go on after the block."""
        try:
            yield
        except Problems as several:
            self._errors += several.errors
        except (UsageError, NothingSelected) as error:
            self._errors.append(error)

    def __bool__(self) -> bool:
        """True if an error was collected."""
        return bool(self._errors)

    def check(self) -> None:
        """Raise what was collected: nothing, the one error, or Problems."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            raise Problems(self._errors)


def unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for an unknown name, with a suggestion, the known names, or a few of them if there are many."""
    names = sorted(map(str, known))
    if close := get_close_matches(name, names, n=1, cutoff=0.6):
        return UsageError(
            "unknown-name",
            "unknown {what} {name!r}; did you mean {suggestion!r}?",
            what=what,
            name=name,
            suggestion=close[0],
        )
    if len(names) <= MANY:
        return UsageError(
            "unknown-name",
            "unknown {what} {name!r}; known: {names}",
            what=what,
            name=name,
            names=tuple(names) or "none",
        )
    # The shortest names are the basic parts; longer names are variants of them.
    some = ", ".join(sorted(nsmallest(HANDFUL, names, key=len)))
    hint = f"kafka-trial list {LISTS[what]} shows what there is" if what in LISTS else None
    return UsageError(
        "unknown-name",
        "unknown {what} {name!r}; some of {count} are {some}",
        hint=hint,
        what=what,
        name=name,
        count=len(names),
        some=some,
    )


def first_of(group: BaseExceptionGroup[BaseException]) -> KafkaTrialError | None:
    """Return the first KafkaTrialError in a task group's exceptions, or None if it has none."""
    matching = group.subgroup(KafkaTrialError)
    if matching is None:
        return None
    error: BaseException = matching
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, KafkaTrialError)
    return error
