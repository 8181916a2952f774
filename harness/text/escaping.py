r"""Make text from elsewhere safe for display: a client's output, a stored file's content, a name.

All displayed text goes through :func:`safe_line`. Its result is one line of bounded length, without secrets, in which
an escape (``\x1b``, ``\u202e``) replaces each invisible character. Backslashes are not escaped, so applying the
function again changes nothing. The further functions are named after the place of display, and do what that place needs
in addition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from harness.text import redaction
from harness.text.counting import some

#: The maximum length of a line, wherever it is displayed.
MOST_CHARS: Final = 4_000
#: Only the beginning of a longer text is processed.
WHOLE_CHARS: Final = 200_000
#: The maximum length of a text that is remembered as plain: most are names, which are displayed again and again.
_SHORT: Final = 100
#: The room for the remark that a text was cut.
_ROOM: Final = 40

#: Characters that Python calls printable but that are invisible: fillers, joiners, variation selectors.
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
#: CI servers treat a line that begins with ``::``, and ``##[`` or ``##vso[`` anywhere in a line, as a command.
_LINE_COMMAND: Final = re.compile(r"((?:^|[\r\n])[^\S\r\n]*):(?=:)")
_COMMAND: Final = re.compile(r"#(?=#\w*\[)")
#: Text without a special meaning in Markdown and on GitHub. A version after an @ is not a mention.
_PLAIN: Final = re.compile(r"""(?:[^\W_]|[ .,;:%()+/=…·–→>!?'"-]|(?<=[^\W_])@(?=[\d.]+(?:[^\w@-]|$)))*""")
_LINKED: Final = re.compile(r"//|www\.|:[\w+-]+:|\bGH-\d", re.IGNORECASE)


def visible(text: str) -> str:
    """Return ``text`` with an escape for each invisible character, including line breaks."""
    if text.isprintable() and not _UNSEEN.search(text):  # nearly always
        return text
    return "".join(map(_visible, text))


def is_text(text: str) -> bool:
    """Return False for text that cannot be stored: bytes of a command line or file name that are not UTF-8."""
    return not any("\ud800" <= each <= "\udfff" for each in text)


def safe_line(text: str, most: int = MOST_CHARS) -> str:
    """Return ``text`` as one line of at most ``most`` (at least 100) characters: if longer, its beginning and end.

    The number of omitted characters is included. Of a text longer than ``WHOLE_CHARS``, only the beginning is used.
    """
    if len(text) <= _SHORT and _is_plain(text) and not redaction.is_known(text):
        return text
    line = visible(redaction.text(text[:WHOLE_CHARS]))
    unread = max(0, len(text) - WHOLE_CHARS)
    room = most
    # A cut may turn the rest of a word into a secret's name. Its value is redacted too, so that a second pass changes
    # nothing.
    while len(shown := redaction.text(_cut(line, unread, room))) > most:
        room -= len(shown) - most
    return shown


@lru_cache(10_000)
def _is_plain(text: str) -> bool:
    """Return True if nothing in ``text`` is invisible or looks like a secret."""
    return visible(text) == text and not redaction.has_hint(text)


def safe_each(texts: Sequence[str], most: int = MOST_CHARS) -> Sequence[str]:
    """Return :func:`safe_line` of each of many texts: the texts themselves if a look at all of them finds nothing."""
    together = "".join(texts)
    is_short = len(max(texts, key=len, default="")) <= most
    if is_short and visible(together) is together and redaction.is_free_of_hints(texts):
        return texts
    return [safe_line(text, most) for text in texts]


def safe_lines(text: str) -> str:
    """Apply :func:`safe_line` to each line of ``text``, for the harness's own text of several lines."""
    return "\n".join(safe_line(line) for line in redaction.text(text).split("\n"))


def for_logs(text: str) -> str:
    """Return ``text``, of any number of lines, without anything that a CI server would treat as a command."""
    return _COMMAND.sub(r"\\x23", _LINE_COMMAND.sub(r"\1\\x3a", text))


def log_line(text: str) -> str:
    """Return ``text`` as one line of a log."""
    return for_logs(safe_line(text))


def for_json(document: bytes) -> bytes:
    """Return the same JSON in plain ASCII, in which neither a terminal nor a CI server finds a command."""
    ascii_only = re.sub(r"[^\x20-\x7e\n]", _json_escape, document.decode())
    return re.sub(r"#(?=#\w*\[)", r"\\u0023", ascii_only).encode()


def for_markdown(text: str, most: int = 400) -> str:
    """Return ``text`` for a line or table of Markdown: unchanged if it is only plain words, else as a code span."""
    line = in_code_span(text, most)
    return line if _PLAIN.fullmatch(line) and not _LINKED.search(line) else f"`{line}`"


def in_code_span(text: str, most: int = 400) -> str:
    """Return ``text`` for use between two backticks, without links, images, tags or mentions, even in a table."""
    line = for_logs(safe_line(" ".join(text.split()), most))
    return line.replace("`", r"\x60").replace("|", r"\x7c")


def command_span(command: str) -> str:
    """Return a command as a code span outside of tables, with every character that a shell needs.

    The fence is longer than any run of backticks in the command, so the command cannot end the span.
    """
    line = for_logs(safe_line(command))
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _cut(line: str, unread: int, most: int) -> str:
    if len(line) <= most and not unread:
        return line
    room = max(0, most - _ROOM)
    end = 0 if unread else room // 4
    head, tail = line[: room - end], line[len(line) - end :]
    missing = f"… ({some(len(line) - len(head) - len(tail) + unread, 'more character')})"
    return f"{head}{missing}{f' …{tail}' if tail else ''}"


def _visible(character: str) -> str:
    if character.isprintable() and not _UNSEEN.match(character):
        return character
    return character.encode("unicode_escape").decode()


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
