"""Every property on the true client. A broken property prints the smallest example that breaks it."""

from __future__ import annotations

import pytest

from harness.system import extras

with extras.needed("properties", str(__package__)):
    from hypothesis import settings

    from suites.properties.property import Property, properties, try_property


@pytest.mark.long("tries every property many times")
@pytest.mark.parametrize("tried", [pytest.param(each, id=each.id) for each in properties().values()])
def test_the_true_client_keeps(tried: Property) -> None:
    broken = try_property(tried, tried.made_of(), settings().max_examples, shrink=True)
    if broken is not None:
        notes = "\n".join(getattr(broken.error, "__notes__", ()))
        pytest.fail(f"{tried.id}: {tried.statement}\n{broken.error}\n{notes}", pytrace=False)
