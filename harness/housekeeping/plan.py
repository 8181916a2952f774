"""Decide which items to remove: a pure function of the items, the request, and the time.

An item is removed only if all conditions for its kind hold: a run that is older than ``--older-than`` stays if it is
among the last ``--keep``. Items of a kind that was not requested stay, and so do items that have a reason to stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.model.units import told_s
from harness.text.counting import some


class Kind(StrEnum):
    """The kind of an item. A ``STRANGER`` is located among the project's items but lacks their marks."""

    RUN = "run"
    INSTALLATION = "installation"
    CACHE = "cache"
    STRANGER = "stranger"


@dataclass(frozen=True)
class Found:
    """One item: its last use (seconds since 1970), and the reason why it ``stays`` in any case, or ""."""

    kind: Kind
    path: Path
    used_s: float
    stays: str = ""


@dataclass(frozen=True)
class Wanted:
    """The request. None and False exclude a kind."""

    older_than_s: float | None = None
    keep: int | None = None
    unused_for_s: float | None = None
    caches: bool = False

    @property
    def runs(self) -> bool:
        """True if runs were requested."""
        return self.older_than_s is not None or self.keep is not None

    @property
    def anything(self) -> bool:
        """True if any kind was requested."""
        return self.runs or self.unused_for_s is not None or self.caches


@dataclass(frozen=True)
class Decision:
    """An item and the reason why it stays. It is removed if that is empty."""

    found: Found
    stays: str

    @property
    def goes(self) -> bool:
        """True if the item is to be removed."""
        return not self.stays


def plan(things: Iterable[Found], wanted: Wanted, now_s: float) -> list[Decision]:
    """Return a decision on each item, in the given order. Runs that have to stay count among the last ones."""
    things = list(things)
    runs = sorted(
        (thing for thing in things if thing.kind is Kind.RUN), key=lambda run: (run.used_s, run.path.name)
    )
    last = set() if wanted.keep is None else {run.path for run in runs[max(0, len(runs) - wanted.keep) :]}
    return [
        Decision(thing, thing.stays or _wanted_to_stay(thing, wanted, now_s, thing.path in last))
        for thing in things
    ]


def _wanted_to_stay(thing: Found, wanted: Wanted, now_s: float, is_last: bool) -> str:
    unused_s = max(0.0, now_s - thing.used_s)
    match thing.kind:
        case Kind.RUN if not wanted.runs:
            return "no runs were selected"
        case Kind.RUN if is_last:
            return f"it is among the last {some(wanted.keep or 0, 'run')}"
        case Kind.RUN:
            return _too_young("changed", unused_s, wanted.older_than_s)
        case Kind.INSTALLATION if wanted.unused_for_s is None:
            return "no installations were selected"
        case Kind.INSTALLATION:
            return _too_young("used", unused_s, wanted.unused_for_s)
        case Kind.CACHE:
            return "" if wanted.caches else "no caches were selected"
        case _:
            return "it does not belong to kafka-trial"


def _too_young(verb: str, unused_s: float, limit_s: float | None) -> str:
    return "" if limit_s is None or unused_s > limit_s else f"it was {verb} {told_s(unused_s)} ago"
