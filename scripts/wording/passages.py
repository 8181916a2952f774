"""Find the prose of a file: docstrings, comments and help texts of Python, and the paragraphs of a Markdown page.

A passage keeps the line breaks of its file. Rules look at it without its inline code and URLs, which are replaced by
as many other characters.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt

#: Inline code, roles such as :class:`Name`, the targets of Markdown links, and URLs.
CODE = re.compile(r"(:\w+:)?(``[^`]+``|`[^`]+`)|(?<=\])\([^()\s]*\)|https?://\S+")
#: Replaces a character of code. It is neither a word character nor white space, so no pattern matches across it.
BLANK = "\N{MIDDLE DOT}"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Passage:
    """A piece of prose: its first line in the file, its kind, and the text as it is written."""

    line: int
    kind: str
    written: str

    @property
    def text(self) -> str:
        """The text with each character of inline code and of URLs replaced. Lines stay where they are."""
        return CODE.sub(lambda found: re.sub(r"[^\n]", BLANK, found[0]), self.written)


def docstrings(tree: ast.Module, source: str) -> Iterator[Passage]:
    """Yield the docstrings of a module, and of its classes and functions."""
    lines = source.split("\n")
    for node in ast.walk(tree):
        if not isinstance(node, DOCUMENTED) or ast.get_docstring(node, clean=False) is None:
            continue
        yield _passage(node.body[0], "docstring", lines)


def help_texts(tree: ast.Module, source: str) -> Iterator[Passage]:
    """Yield the strings that calls are given as ``help``, such as those of command-line options."""
    lines = source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "help" and _is_text(node.value):
            yield _passage(node.value, "help", lines)


def comments(source: str) -> Iterator[Passage]:
    """Yield the comments. Comments on consecutive lines are one passage if only white space is between them."""
    start, text, end = 0, "", (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            own_line = not token.line[: token.start[1]].strip()
            if text and own_line and token.start[0] == end[0] + 1:
                text += "\n" + _uncommented(token.string)
            else:
                if text:
                    yield Passage(start, "comment", text)
                start, text = token.start[0], _uncommented(token.string)
            end = token.end
    if text:
        yield Passage(start, "comment", text)


def paragraphs(page: str) -> Iterator[Passage]:
    """Yield the headings, paragraphs, list items and table cells of a Markdown page; code blocks are left out."""
    lines = page.splitlines(keepends=True)
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(page):
        if token.type == "inline" and token.map:
            first, last = token.map
            text = token.content if last == first + 1 else "".join(lines[first:last])
            yield Passage(first + 1, "paragraph", text.rstrip())


def _passage(node: ast.stmt | ast.expr, kind: str, lines: list[str]) -> Passage:
    """Return the source of a node, quotes included. An offset of ``ast`` counts bytes of UTF-8."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    text = lines[first : last + 1]
    text[-1] = text[-1].encode()[: node.end_col_offset].decode()
    text[0] = text[0].encode()[node.col_offset :].decode()
    return Passage(node.lineno, kind, "\n".join(text))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _uncommented(comment: str) -> str:
    return re.sub(r"^#+:?", lambda found: " " * len(found[0]), comment)
