"""Encodings of text, as Java's charsets write and read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.common.encodings import Encoding


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(["UTF-8", "utf8", "UTF-16", "UTF-16LE", "UTF-32"]),
)
def test_unicode_encodings_round_trip(text, name):
    encoding = Encoding.named(name)
    assert encoding.decode(encoding.encode(text)) == text


def test_bytes_are_those_of_java():
    """Golden bytes of String.getBytes and of the String constructor."""
    written = {
        "US-ASCII": "613f",
        "ISO-8859-1": "61e9",
        "windows-1252": "61e9",
        "UTF-16": "feff006100e9",
        "UTF-16BE": "006100e9",
        "UTF-32": "00000061000000e9",
    }
    assert {name: Encoding.named(name).encode("a\xe9").hex() for name in written} == written
    assert Encoding.named("UTF-16").encode("") == b""
    assert Encoding.named("UTF-16").decode(bytes.fromhex("fffe61000061")) == "a\u6100"
    assert Encoding.named("UTF-16").decode(b"\0a") == "a"
    assert Encoding.named("UTF-8").decode(b"a\xff") == "a\ufffd"


@pytest.mark.parametrize("name", ["KLINGON-1", "", "hex", "rot13", "a\0b"])
def test_unknown_encoding_is_refused(name):
    with pytest.raises(ValueError, match="unknown"):
        Encoding.named(name)
