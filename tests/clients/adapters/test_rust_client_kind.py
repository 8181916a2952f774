"""The client kind ``rdkafka``, as far as it goes without cargo."""

from __future__ import annotations

import pytest

from clients.adapters.rdkafka import CLIENT
from harness.model.errors import UsageError
from testkit.codes import raises_code


@pytest.mark.parametrize("version", ["", "latest", "^0.36", "0.36.2 evil", "../0.36.2"])
def test_a_version_of_rdkafka_is_a_number(version):
    with raises_code(UsageError, "client-version-format", client="rdkafka"):
        CLIENT.install(version)


def test_the_default_version_is_the_newest_that_was_tried():
    assert CLIENT.versions[-1] == CLIENT.default_version
