"""Every law on the true client. A broken law prints the smallest example that breaks it."""

from __future__ import annotations

import pytest
from hypothesis import settings

from clients.reference.producer.producer import Components
from suites.properties.property import Law, laws, try_law


@pytest.mark.long("tries every law many times")
@pytest.mark.parametrize("tried", [pytest.param(each, id=each.id) for each in laws().values()])
def test_the_true_client_keeps(tried: Law) -> None:
    broken = try_law(tried, Components(), settings().max_examples, shrink=True)
    if broken is not None:
        notes = "\n".join(getattr(broken.error, "__notes__", ()))
        pytest.fail(f"{tried.id}: {tried.statement}\n{broken.error}\n{notes}", pytrace=False)
