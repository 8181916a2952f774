"""Draw passages at random for a reviewer: docstrings, messages, or paragraphs of the documentation."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from random import Random

from wording.files import passages
from wording.messages import errors, messages
from wording.passages import Passage

KINDS = ("docstring", "message", "paragraph")
#: A shorter paragraph is a heading or a table cell.
MIN_WORDS = 8


def drawn(sources: Mapping[str, str], kind: str, count: int, seed: int) -> list[tuple[str, Passage]]:
    """Return at most ``count`` passages of a kind, each with its file. The same seed draws the same ones."""
    there = list(_all(sources, kind))
    return Random(seed).sample(there, min(count, len(there)))


def _all(sources: Mapping[str, str], kind: str) -> Iterator[tuple[str, Passage]]:
    pages = {name: text for name, text in sources.items() if name.endswith(".md")}
    modules = {name: text for name, text in sources.items() if name.endswith(".py")}
    if kind == "message":
        trees = {name: ast.parse(text) for name, text in modules.items() if not name.startswith("tests/")}
        known = errors(trees.values())
        for name, tree in trees.items():
            yield from ((name, each) for each in messages(tree, known))
        return
    for name, text in (pages if kind == "paragraph" else modules).items():
        for each in passages(name, text):
            if each.kind == kind and (kind == "docstring" or len(each.written.split()) >= MIN_WORDS):
                yield name, each
