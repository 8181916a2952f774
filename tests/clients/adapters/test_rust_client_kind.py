"""The parts of the client kind ``rdkafka`` that need no cargo."""

from __future__ import annotations

import pytest

from clients.adapters.rdkafka import CLIENT
from harness.model.errors import UsageError
from testkit.codes import raises_code


@pytest.mark.parametrize("version", ["", "latest", "^0.36", "0.36.2 evil", "../0.36.2"])
def test_malformed_version_is_rejected(version):
    with raises_code(UsageError, "client-version-format", client="rdkafka"):
        CLIENT.install(version)


def test_default_version_is_the_newest_tested_one():
    assert CLIENT.versions[-1] == CLIENT.default_version
