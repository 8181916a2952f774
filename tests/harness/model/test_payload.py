"""Record values contain their identity, and any other text or changed value is recognised."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.model.payload import Identity, decode, encode

words = st.text(
    st.characters(codec="ascii", exclude_characters="|", min_codepoint=33), min_size=1, max_size=20
)
identities = st.builds(Identity, run=words, trial=words, producer=words, n=st.integers(0, 2**40))


@given(identities, st.integers(0, 400))
def test_a_value_contains_its_identity(identity, size_bytes):
    value = encode(identity, size_bytes)
    assert decode(value) == identity
    assert len(value) >= size_bytes


@given(identities, st.data())
def test_every_changed_character_is_detected(identity, data):
    value = encode(identity, 120)
    at = data.draw(st.integers(0, len(value) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda c: c != value[at]))
    assert decode(value[:at] + other + value[at + 1 :]) is None


@given(st.one_of(st.none(), st.text()))
def test_foreign_text_has_no_identity(value):
    assert decode(value) is None
