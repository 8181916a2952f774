"""Redaction of events: whatever text a client puts into an event, a secret in it is not kept."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.adapter.discreet import discreet
from harness.model.consumer_contract import Consumed, RecordsConsumed
from harness.model.contract import ClientEvent
from harness.text.redaction import MARK

SECRET = "hunter2-of-ours"
SAID = f"password={SECRET}"
#: What later code compares with what was sent or written, or with words of the contract.
EXACT = {"op", "how", "outcome", "value", "values", "keys", "topic", "producer"}


def filled(kind: Any, name: str = "") -> Any:
    """Return a value of the type. All its text has a secret, except for what has to be exact."""
    told = "exact" if name in EXACT else SAID
    match kind:
        case msgspec.inspect.StructType(cls=cls):
            inner = {each.name: filled(each.type, each.name) for each in kind.fields}
            return cls(**{name: value for name, value in inner.items() if value is not msgspec.UNSET})
        case msgspec.inspect.StrType():
            return told
        case msgspec.inspect.IntType():
            return 0
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.ListType(item_type=item):
            return [filled(item, name)]
        case msgspec.inspect.TupleType(item_types=items):
            return tuple(filled(item, name) for item in items)
        case msgspec.inspect.DictType(value_type=value):
            return {"a.setting": filled(value, name)}
        case msgspec.inspect.UnionType(types=types):
            return filled(
                next((each for each in types if isinstance(each, msgspec.inspect.StrType)), types[0]), name
            )
        case _:
            return msgspec.UNSET


@pytest.mark.parametrize("kind", get_args(ClientEvent), ids=lambda kind: kind.__name__)
def test_no_event_keeps_a_secret(kind: type[msgspec.Struct]) -> None:
    event = filled(msgspec.inspect.type_info(kind))
    kept = discreet(event)
    assert SECRET not in repr(kept)
    assert (MARK in repr(kept)) == (SECRET in repr(event))


@given(st.lists(st.sampled_from([None, SAID, "record"]), min_size=1, max_size=5))
def test_the_content_of_records_is_never_changed(texts: list[str | None]) -> None:
    offsets = list(range(len(texts)))
    part = Consumed(SAID, 0, len(texts), 0, offsets[-1], offsets, values=texts, keys=texts)
    event = RecordsConsumed(seq=0, mono_ns=0, wall_ns=0, count=len(texts), partitions=[part], polled_ns=0)
    assert discreet(event) == event
