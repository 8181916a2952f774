"""The rules of the word list, and the hits of a passage."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from wording.passages import Passage

TABLE = Path(__file__).with_name("rules.toml")
#: What a space of a pattern matches. In a file's own text a comment sign may follow the line break.
GAP = r"\s+(?:#+:?\s*)?"


@dataclass(frozen=True)
class Rule:
    """A row of the table: a pattern, its exceptions, what to write instead, and one example before and after."""

    pattern: str
    write: str
    found: str
    better: str
    unless: str = ""

    @cached_property
    def _match(self) -> re.Pattern[str]:
        return compiled([self])

    @cached_property
    def _exception(self) -> re.Pattern[str] | None:
        return re.compile(self.unless, re.IGNORECASE) if self.unless else None

    def hits(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches of ``pattern`` that ``unless`` does not match as a whole."""
        for found in self._match.finditer(text):
            if not (self._exception and self._exception.fullmatch(" ".join(found[0].split()))):
                yield found


@dataclass(frozen=True, order=True)
class Hit:
    """A match of a rule: its line in the file, the words found, and what to write instead."""

    line: int
    words: str
    write: str


def table(text: str) -> tuple[Rule, ...]:
    """Return the rules of a table in TOML."""
    return tuple(Rule(**each) for each in tomllib.loads(text)["rule"])


def compiled(rules: Iterable[Rule]) -> re.Pattern[str]:
    """Return one pattern for whole words that any of the rules may match; it ignores their exceptions."""
    any_of = "|".join(rule.pattern for rule in rules)
    return re.compile(rf"(?<!\w)(?:{any_of.replace(' ', GAP)})(?!\w)", re.IGNORECASE)


def hits(passages: Iterable[Passage], rules: Iterable[Rule]) -> list[Hit]:
    """Return the hits of all rules in the passages, in the order of their lines."""
    rules = tuple(rules)
    found = []
    for passage in passages:
        text = passage.text
        for rule in rules:
            for match in rule.hits(text):
                line = passage.line + text.count("\n", 0, match.start())
                found.append(Hit(line, " ".join(match[0].split()), rule.write))
    return sorted(found)
