r"""Text from elsewhere, made fit to be shown: a client's words, a stored file's, a name.

Everything that is shown anywhere passes :func:`safe_line`: one line of bounded length, without secrets, in which an
escape (``\x1b``, ``\u202e``) replaces each character that cannot be seen. Backslashes stay as they are, so the same
again changes nothing. What a place needs besides is in the function of its name.
"""

from __future__ import annotations

import re
from typing import Final

from harness.text import redaction

#: No line is longer, wherever it is shown.
MOST_CHARS: Final = 4_000
#: Of a longer text only the beginning is looked at.
WHOLE_CHARS: Final = 200_000
#: For what is said of a text that was cut.
_ROOM: Final = 40

#: What Python calls printable, and nobody sees: fillers, joiners, selectors of variations.
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
#: Servers of CI take a line that begins with ``::`` for a command, and ``##[`` or ``##vso[`` anywhere in one.
_LINE_COMMAND: Final = re.compile(r"((?:^|[\r\n])[^\S\r\n]*):(?=:)")
_COMMAND: Final = re.compile(r"#(?=#\w*\[)")
#: What Markdown and GitHub leave alone; a version after an @ is nobody's name.
_PLAIN: Final = re.compile(r"""(?:[^\W_]|[ .,;:%()+/=…·–→>!?'"-]|(?<=[^\W_])@(?=[\d.]+(?:[^\w@-]|$)))*""")
_LINKED: Final = re.compile(r"//|www\.|:[\w+-]+:|\bGH-\d", re.IGNORECASE)


def visible(text: str) -> str:
    """``text`` with an escape for each character that cannot be seen, line breaks among them."""
    if text.isprintable() and not _UNSEEN.search(text):  # as nearly all is
        return text
    return "".join(map(_visible, text))


def is_text(text: str) -> bool:
    """False for what no file of ours can hold: bytes of a command line or a file name that are not UTF-8."""
    return not any("\ud800" <= each <= "\udfff" for each in text)


def safe_line(text: str, most: int = MOST_CHARS) -> str:
    """``text`` in one line of at most ``most`` (from 100) characters: where it is longer, its beginning and its end.

    What was cut is counted. Of a text beyond ``WHOLE_CHARS`` there is only the beginning.
    """
    line = visible(redaction.text(text[:WHOLE_CHARS]))
    unread = max(0, len(text) - WHOLE_CHARS)
    room = most
    # A cut may leave of a word the name of a secret: its value is redacted too, so that the same again changes nothing.
    while len(shown := redaction.text(_cut(line, unread, room))) > most:
        room -= len(shown) - most
    return shown


def safe_lines(text: str) -> str:
    """Each line of ``text`` for itself: for what is ours and has several."""
    return "\n".join(safe_line(line) for line in redaction.text(text).split("\n"))


def for_logs(text: str) -> str:
    """``text``, of any number of lines, without what a CI server would take for a command."""
    return _COMMAND.sub(r"\\x23", _LINE_COMMAND.sub(r"\1\\x3a", text))


def log_line(text: str) -> str:
    """``text`` as one line of a log."""
    return for_logs(safe_line(text))


def for_json(document: bytes) -> bytes:
    """The same JSON in plain ASCII, in which nothing is taken for a command, be it by a terminal or a CI server."""
    ascii_only = re.sub(r"[^\x20-\x7e\n]", _json_escape, document.decode())
    return re.sub(r"#(?=#\w*\[)", r"\\u0023", ascii_only).encode()


def for_markdown(text: str, most: int = 400) -> str:
    """``text`` in a line or a table of Markdown: as it is where all of it is plain words, else as a code span."""
    line = in_code_span(text, most)
    return line if _PLAIN.fullmatch(line) and not _LINKED.search(line) else f"`{line}`"


def in_code_span(text: str, most: int = 400) -> str:
    """``text`` for between two backticks, where nothing is a link, an image, a tag or a mention, also in a table."""
    line = for_logs(safe_line(" ".join(text.split()), most))
    return line.replace("`", r"\x60").replace("|", r"\x7c")


def _cut(line: str, unread: int, most: int) -> str:
    if len(line) <= most and not unread:
        return line
    room = max(0, most - _ROOM)
    end = 0 if unread else room // 4
    head, tail = line[: room - end], line[len(line) - end :]
    missing = f"… ({len(line) - len(head) - len(tail) + unread:,} more characters)"
    return f"{head}{missing}{f' …{tail}' if tail else ''}"


def _visible(character: str) -> str:
    if character.isprintable() and not _UNSEEN.match(character):
        return character
    return character.encode("unicode_escape").decode()


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
