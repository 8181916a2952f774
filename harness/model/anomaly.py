"""Anomalies and reasons: codes with typed parameters, from which the sentences are made last.

An :class:`Anomaly` is declared once, next to the check that finds it, and a :class:`ReasonKind` next to the code that
raises it. Both are templates: ``{count:record}`` becomes "1 record" or "2 records", a number without a noun gets
thousands separators, and a tuple becomes a list. Grouping, diff and baseline read codes and parameters, never the
sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from string import Formatter
from typing import Any

from harness.model.rows import MAX_SAMPLES, Finding, Param, Reason
from harness.model.verdicts import Level
from harness.text.counting import some
from harness.text.escaping import visible

Sample = dict[str, str | int | None]

#: The maximum length of a parameter in a sentence. Text that a client reports about itself is unbounded.
TOLD_CHARACTERS = 200
#: The maximum number of names of a list in a sentence.
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
    """A kind of reason for a verdict: its ``code``, and the ``template`` of its sentence."""

    code: str
    template: str

    def reason(self, *, told: str = "", **params: Param) -> Reason:
        """Return the reason with these parameters.

        ``told`` is text for the sentence only; it does not take part in grouping.
        """
        return Reason(self.code, params, _SENTENCE.format(self.template, told=told, **params))


@dataclass(frozen=True)
class Anomaly:
    """A kind of finding: its ``code``, the ``template`` of its sentence, and its ``level``.

    An anomaly of level SHOULD never fails a trial, whatever the level of its requirement. ``explains`` are the codes of
    findings that follow from this one in the same trial. They are reported with it and do not count as causes.
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
        """Return a finding of ``count`` occurrences. ``samples`` are trimmed; the count never is.

        ``requirement`` is the requirement that is violated; empty means all those that the check judges. ``told`` is
        text for the sentence only; anything that findings are grouped by is a parameter.
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
    """Return ``text`` on one line and at most ``TOLD_CHARACTERS`` long, since other tools read stored sentences."""
    told = visible(text[: TOLD_CHARACTERS + 1])
    return told if len(told) <= TOLD_CHARACTERS else f"{told[: TOLD_CHARACTERS - 1]}…"
