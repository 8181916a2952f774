"""The scripted brokers respond as real ones do, except for the listed differences."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from testkit.fidelity.plans import draw, draw_outage
from testkit.fidelity.session import compare

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize(
    ("version", "nodes", "plans", "outages"), [("4.3.1", 1, 40, 1), ("3.9.2", 1, 15, 0), ("4.3.1", 3, 15, 0)]
)
def test_scripted_brokers_respond_like_real_ones(
    tmp_path: Path, version: str, nodes: int, plans: int, outages: int
) -> None:
    drawn = [draw(seed, version, nodes) for seed in range(plans)]
    drawn += [draw_outage(seed, version, nodes) for seed in range(outages)]
    figures = asyncio.run(compare(version, nodes, drawn, tmp_path))
    assert figures.plans == plans + outages
    assert not figures.unknown, "\n".join(map(str, figures.unknown))
    # The comparison is not empty: batches were stored, and others rejected with several error codes.
    assert figures.batches > 2 * plans
    assert len(figures.codes) > 12
