"""Values that the reader of a document may not expect: numbers, strings, and text that is neither JSON nor TOML."""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Raw(NamedTuple):
    """Text that is written into a document unchanged, even where it is invalid."""

    text: bytes

    def __repr__(self) -> str:
        return f"Raw({self.text[:20]!r}{f' and {len(self.text) - 20} more' if len(self.text) > 20 else ''})"


DEEP = 100_000
#: Unusual numbers, strings and tables. Long ones are rare.
RAWS = [
    Raw(text)
    for text in (
        *(b"1e400", b"-1e400", b"1e-400", b"-0", b"01", b"1.", b"NaN", b"nul", b"-", b"0x10", b"1_000"),
        *(b'"\\ud800"', b'"\\udfff\\ud800"', b'"\xff"', b'"\xed\xa0\x80"', b'"\\u0000"', b'"\x00"', b'"'),
        *(b"[", b"]", b"{", b"}", b",", b"", b"\n", b"{}", b'{"":0}', b"//", b"\xef\xbb\xbf0"),
        *(
            b"1979-13-45",
            b"0000-01-01",
            b"9999-12-31T23:59:60Z",
            b"25:61:00",
            b"inf",
            b"nan",
            b"'''",
            b"a.b.c = 1",
        ),
        *(b"9" * 400, b"9" * 5_000, b"1." + b"9" * 5_000, b"1e" + b"9" * 5_000),
        *(b"[" * 200 + b"]" * 200, b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP, b'"' + b"x" * 300_000 + b'"'),
        *(b"{a=" * 2_000 + b"1" + b"}" * 2_000, b"[" + b"0," * 5_000 + b"0]"),
    )
]
_EDGES = [edge + step for edge in (0, 2**15, 2**31, 2**32, 2**53, 2**63, 2**64) for step in (-1, 0, 1)]
NUMBERS = [*_EDGES, *(-edge for edge in _EDGES), 10**10, 10**19, 10**400]
FLOATS = [0.5, -0.0, 1e308, 5e-324, math.nan, math.inf, -math.inf]
STRINGS = [
    *(
        "",
        " ",
        "x",
        "0",
        "1",
        "-1",
        "null",
        "true",
        "ok",
        "own",
        "\ud800",
        "\0",
        "\x1b]0;owned\x07",
        "é漢😀",
        "x" * 5_000,
    ),
    *(
        "..",
        "../../etc/passwd",
        "/dev/zero",
        "a/b",
        "reference",
        "*",
        "[",
        "name@1",
        "@",
        "{}",
        "%s",
        "[/red]",
        "\n::error::",
    ),
    *(
        "simulated:4.3.1x1",
        "local:4.3.1x999999999",
        "scripted:4.3.1x1",
        "produce",
        "elapsed",
        "frame",
        "client",
        "phase",
    ),
    *(
        "op_invoke",
        "op_complete",
        "startup_complete",
        "send",
        "flush",
        "request",
        "response",
        "open",
        "close",
        "blocked",
    ),
]
VALUES: list[Any] = [None, True, False, *NUMBERS, *STRINGS, *FLOATS, *RAWS, [], [""], {}, {"name": 0}]
#: Bytes with a meaning in some format.
FRAGMENTS = [
    *(
        b"",
        b"\x00",
        b"\xff",
        b"\x7f",
        b"\x80",
        b"\r\n",
        b"\n",
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"=",
        b"#",
    ),
    *(
        b"\xff" * 4,
        b"\xff" * 8,
        b"\x7f" + b"\xff" * 3,
        b"\x80" + bytes(3),
        b"\xff" * 3 + b"\x7f",
        bytes(8),
        b"\xff" * 11,
    ),
    *(
        b"\x00\x00\x00\x01",
        b"\x01\x00\x00\x00",
        b"\xff\xff\xff\xff\x0f",
        b"\x1b[2J",
        b"\xed\xa0\x80",
        b"null",
        b"1e999",
    ),
    *(b"(\xb5/\xfd", b"9" * 5_000, b"[" * DEEP, b"a." * 3_000),
]
