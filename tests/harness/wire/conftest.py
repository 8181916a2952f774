"""A fixture of all APIs; those that producers use are in the fast tests."""

from __future__ import annotations

import pytest

from harness.wire.apis import Api, api_name

PRODUCER = {Api.API_VERSIONS, Api.METADATA, Api.PRODUCE, Api.INIT_PRODUCER_ID, Api.FIND_COORDINATOR}


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(
            api,
            marks=[]
            if api in PRODUCER
            else pytest.mark.long("every other API; those of producers are in the fast tier"),
        )
        for api in Api
    ],
    ids=api_name,
)
def api(request: pytest.FixtureRequest) -> Api:
    return Api(request.param)
