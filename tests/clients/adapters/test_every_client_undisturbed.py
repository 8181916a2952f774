"""Every client at every tested version passes trials without faults.

Some old versions fail. Their known anomalies are expected, and no others are allowed.
"""

from __future__ import annotations

import pytest

from harness import baseline
from harness.cli.options import Options
from harness.cli.run_plan import new_record
from harness.model.spec import ClientRef, Plan
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.running.cluster_session import ClusterSession
from harness.workloads.produce.kind import WORKLOAD

pytestmark = [pytest.mark.jvm, pytest.mark.long("produces with real clients")]

BROKER, LANES = "local:4.3.1x1", 8
CALM = "produce/calm"


def trials_of(name, version):
    return make_plan([registry.scenario(CALM)], [ClientRef(name, version)], [BROKER], [1]).trials


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    record = new_record(Plan(1, ()), Options(LANES), baseline.load("known"))
    with ClusterSession(record, BROKER, tmp_path_factory.mktemp("runs")) as lab:
        yield lab


def test_client_passes_without_faults(each_client, published_by, lab, request):
    """Covers every guarantee that the client offers.

    A guarantee that it does not offer is unsupported, not a failure.
    """
    name, version = each_client
    offered = published_by(name)[version].features
    mine = trials_of(name, version)
    later = [spec for other in following(request, each_client) for spec in trials_of(*other)]
    for spec in (*mine, *later[:LANES]):
        lab.submit(spec)
    for spec in mine:
        verdict = lab.submit(spec).result()
        expected = (
            ("pass", "expected-fail") if WORKLOAD.features[spec.guarantee] in offered else ("unsupported",)
        )
        assert verdict.verdict in expected, verdict.reason


def following(request, each_client):
    """Return the clients of the next tests. Their trials run while this test waits for its own."""
    here = [item.callspec.params for item in request.session.items if item.path == request.node.path]
    pairs = [params["each_client"] for params in here]
    return pairs[pairs.index(each_client) + 1 :]
