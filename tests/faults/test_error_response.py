"""Parameters of ``error_response``: only Produce can name a partition, because only its responses have an error for
each.
"""

from __future__ import annotations

import pytest

from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.spec import AtTime, FaultSpec
from harness.plugins.registry import fault as fault_kind
from harness.wire.apis import Api
from testkit.codes import raises_code

FAULT = fault_kind("error_response")


def asked(api: Api, **params: int) -> FaultSpec:
    return FaultSpec("error_response", AtTime(0), 1_000, {"api": api, "after_append": 1, **params})


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("api", [Api.METADATA, Api.INIT_PRODUCER_ID, Api.API_VERSIONS])
def test_partition_of_another_api_is_refused(api: Api, mode: Mode) -> None:
    FAULT.check(asked(api), mode)
    with raises_code(UsageError, "error-response-partition"):
        FAULT.check(asked(api, partition=0), mode)


@pytest.mark.parametrize("mode", Mode)
def test_one_partition_of_produce_can_fail(mode: Mode) -> None:
    FAULT.check(asked(Api.PRODUCE, partition=1), mode)
