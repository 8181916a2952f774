"""The files with prose that people write, and the passages of each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from wording.passages import Passage, comments, docstrings, help_texts, paragraphs

#: Folders with Python. Code in other languages is not read.
PACKAGES = (
    "benchmarks",
    "clients",
    "examples",
    "faults",
    "harness",
    "reports",
    "scripts",
    "suites",
    "testkit",
    "tests",
)
AT_ROOT = ("README.md", "DESIGN.md", "CONTRIBUTING.md", "SECURITY.md", "conftest.py")
#: Pages that people write. Those below docs/reference/ are generated, and CHANGELOG.md is a record of the past.
PAGES = ("*.md", "how-to/*.md", "explanation/*.md")


def sources(root: Path) -> dict[str, str]:
    """Return the text of each file with prose, by its path below ``root``."""
    paths = [root / name for name in AT_ROOT]
    paths += [path for pattern in PAGES for path in (root / "docs").glob(pattern)]
    paths += [path for name in PACKAGES for path in (root / name).rglob("*.py")]
    return {path.relative_to(root).as_posix(): path.read_text() for path in sorted(paths) if path.is_file()}


def passages(name: str, source: str) -> Iterator[Passage]:
    """Yield the prose of a file: of a page in Markdown, or of a module in Python."""
    if name.endswith(".md"):
        yield from paragraphs(source)
        return
    tree = ast.parse(source)
    yield from docstrings(tree, source)
    yield from help_texts(tree, source)
    yield from comments(source)


def candidates(sources: dict[str, str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Return the sources in which the pattern matches anywhere: only those are worth parsing."""
    return {name: text for name, text in sources.items() if pattern.search(text)}
