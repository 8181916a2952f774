"""How Java's ConfigDef reads the text of a setting. Python's own parsers accept more, such as ``1_0`` for a number.

Java's ``trim`` removes every character up to U+0020 and no other white space, and its digits are those of the basic
plane, because it looks at UTF-16 units.
"""

from __future__ import annotations

import re

_WHOLE_NUMBER = re.compile(r"[+-]?\d+")
_COMMA = re.compile(r"[ \t\n\v\f\r]*,[ \t\n\v\f\r]*")
_UP_TO_SPACE = "".join(map(chr, range(0x21)))
_LAST_OF_BASIC_PLANE = "\uffff"


def trimmed(text: str) -> str:
    """Return the text as ``String.trim`` does."""
    return text.strip(_UP_TO_SPACE)


def whole_number(text: str) -> int:
    """Return the number that ``Integer.parseInt`` or ``Long.parseLong`` reads. Raise ValueError if there is none."""
    digits = trimmed(text)
    if not _WHOLE_NUMBER.fullmatch(digits) or max(digits) > _LAST_OF_BASIC_PLANE:
        raise ValueError("expected a whole number")
    return int(digits)


def entries(text: str) -> list[str]:
    """Return the entries of a list, which commas separate. Text without any other character has none."""
    whole = trimmed(text)
    return _COMMA.split(whole) if whole else []
