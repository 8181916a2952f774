from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.brokers.layout import NODE_COUNTS, ClusterId, Layout
from harness.brokers.local import LOCAL
from harness.model.errors import UsageError
from testkit.codes import has_error

VERSIONS = ("3.9.2", "4.3.1")
sizes = st.tuples(st.sampled_from(NODE_COUNTS), st.integers(0, 9))


def deal(nodes: int, lanes: int, first: int = 20_000) -> Layout:
    return Layout.deal(range(first, first + Layout.ports_needed(nodes, lanes)), nodes, lanes)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("4.3.1", ClusterId("4.3.1", 1)),
        ("4.3.1x1", ClusterId("4.3.1", 1)),
        ("4.3.1x3", ClusterId("4.3.1", 3)),
        ("3.9.2x3", ClusterId("3.9.2", 3)),
    ],
)
def test_an_id_names_a_version_and_a_number_of_nodes(text: str, wanted: ClusterId) -> None:
    assert ClusterId.parse(text, VERSIONS) == wanted


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("4.3.1x2", ("unknown-name", "'4.3.1x3'")),
        ("4.3.1x", ("unknown-name", "'4.3.1")),
        ("4.3.2", ("unknown-name", "'4.3.1'")),
        ("3.9.1x3", ("unknown-name", "'3.9.2x3'")),
        ("", ("unknown-name", "known:", "3.9.2", "3.9.2x1", "3.9.2x3", "4.3.1", "4.3.1x1", "4.3.1x3")),
        ("latest", ("unknown-name", "known:")),
    ],
)
def test_an_unknown_id_is_answered_with_a_suggestion(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        ClusterId.parse(text, VERSIONS)
    assert has_error(raised.value, *hint)
    assert repr(text) in str(raised.value)


@given(st.text(max_size=12))
def test_only_ids_of_the_table_are_accepted(text: str) -> None:
    try:
        parsed = ClusterId.parse(text, VERSIONS)
    except UsageError:
        return
    assert text in (str(parsed), parsed.version)


def test_the_local_kind_accepts_the_provided_versions() -> None:
    LOCAL.validate("4.3.1x1")
    LOCAL.validate("3.9.2x3")
    with pytest.raises(UsageError):
        LOCAL.validate("0.8.2x1")


@given(sizes)
def test_every_port_of_the_block_is_assigned_once(size: tuple[int, int]) -> None:
    nodes, lanes = size
    layout = deal(nodes, lanes)
    dealt = [address for node in layout.nodes for address in (node.controller, node.internal)]
    dealt += [hop for lane in layout.addresses for hop in (lane.advertised, lane.witness, lane.listener)]
    assert sorted(dealt) == [
        ("127.0.0.1", port) for port in range(20_000, 20_000 + Layout.ports_needed(nodes, lanes))
    ]


@given(sizes)
def test_every_lane_has_one_chain_on_every_node(size: tuple[int, int]) -> None:
    nodes, lanes = size
    chains = [(address.broker, address.lane) for address in deal(nodes, lanes).addresses]
    assert sorted(chains) == [(node, lane) for node in range(1, nodes + 1) for lane in range(lanes)]


@given(sizes)
def test_each_listener_advertises_its_own_lane_only(size: tuple[int, int]) -> None:
    layout = deal(*size)
    for node in layout.nodes:
        assert layout.told(node.internal) == {other.node_id: other.internal for other in layout.nodes}
        for lane, address in enumerate(node.lanes):
            told = layout.told(address.listener)
            assert told == {a.broker: a.advertised for a in layout.addresses if a.lane == lane}


def test_the_controller_advertises_nothing() -> None:
    layout = deal(1, 1)
    with pytest.raises(KeyError):
        layout.told(layout.nodes[0].controller)


def test_a_block_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="1 nodes with 2 lanes do not listen on 7 ports"):
        Layout.deal(range(7), 1, 2)
