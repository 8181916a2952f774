"""Anomalies and reasons: what is found is a code with typed parameters, and its sentence is made from them at the end.

An :class:`Anomaly` is declared once, beside the check that finds it; a :class:`ReasonKind` beside the code that raises
it. Both are templates: ``{count:record}`` reads "1 record" or "2 records", a number without a noun gets its separators,
a tuple is listed. Grouping, diff and baseline read codes and parameters and never the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from string import Formatter
from typing import Any

from harness.model.rows import MAX_SAMPLES, Finding, Param, Reason
from harness.model.units import some
from harness.model.verdicts import Level
from harness.text.escaping import visible

Sample = dict[str, str | int | None]

#: No parameter is longer in a sentence: what a client says of itself has no bound of its own.
TOLD_CHARACTERS = 200
#: So many names of a list are told.
TOLD_NAMES = 8


class _Sentence(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            return some(value, format_spec) if format_spec else f"{value:,}"
        if isinstance(value, tuple):
            more = f" and {len(value) - TOLD_NAMES} more" if len(value) > TOLD_NAMES else ""
            return ", ".join(_short(each) for each in value[:TOLD_NAMES]) + more
        return _short(str(value))


_SENTENCE = _Sentence()


@dataclass(frozen=True)
class ReasonKind:
    """A reason why a trial has no other verdict: its ``code``, and the ``template`` of its sentence."""

    code: str
    template: str

    def reason(self, *, told: str = "", **params: Param) -> Reason:
        """The reason with these parameters; ``told`` is text for the sentence alone, and groups nothing."""
        return Reason(self.code, params, _SENTENCE.format(self.template, told=told, **params))


@dataclass(frozen=True)
class Anomaly:
    """A kind of finding: its ``code``, the ``template`` of its sentence, and how much it weighs.

    An anomaly of level SHOULD never fails a trial, whatever the level of its requirement. ``explains`` are the codes
    of findings that follow from this one in the same trial: they are told with it and are no cause of their own.
    """

    code: str
    template: str
    level: Level = Level.MUST
    explains: tuple[str, ...] = ()

    def found(
        self,
        count: int,
        samples: Iterable[Sample] = (),
        requirement: str = "",
        *,
        told: str = "",
        **params: Param,
    ) -> Finding:
        """A finding of ``count`` such things; ``samples`` are trimmed, the count never is.

        ``requirement`` is the one that is violated; empty: all of those that the check judges. ``told`` is text for the
        sentence alone; what groups findings is a parameter.
        """
        return Finding(
            self.code,
            _SENTENCE.format(self.template, count=count, told=told, **params),
            count,
            tuple(islice(samples, MAX_SAMPLES)),
            requirement,
            params,
            self.level,
            self.explains,
        )


def _short(text: str) -> str:
    """Bounded, and in one line: a sentence that is stored is read in many places, some of which are not ours."""
    told = visible(text[: TOLD_CHARACTERS + 1])
    return told if len(told) <= TOLD_CHARACTERS else f"{told[: TOLD_CHARACTERS - 1]}…"
