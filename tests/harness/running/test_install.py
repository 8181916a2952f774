"""A client that cannot be installed does not stop the others, but an unknown version stops everything."""

from __future__ import annotations

import pytest

from harness.model.errors import EnvironmentProblem, UsageError
from harness.model.spec import ClientRef
from harness.plugins import registry
from harness.plugins.client import Launch
from harness.running.install import install, install_what_can_be
from testkit.codes import raises_code

WELL, LACKING, WRONG = ClientRef("well", "1"), ClientRef("lacking", "1"), ClientRef("well", "none")


class Kind:
    def install(self, version):
        if version == "none":
            raise UsageError("made-up", "there is no version none of well")
        return Launch(("true",), {})


class Lacking:
    def install(self, version):
        raise EnvironmentProblem("made-up", "cargo is missing")


@pytest.fixture(autouse=True)
def kinds():
    kinds = {ref.name: Lacking() if ref is LACKING else Kind() for ref in (WELL, LACKING, WRONG)}
    with registry.replaced("clients", kinds):
        yield


def test_the_other_clients_are_installed():
    done = install_what_can_be([WELL, LACKING, WELL])
    assert list(done.clients) == [WELL]
    assert {ref: str(problem) for ref, problem in done.lacking.items()} == {LACKING: "cargo is missing"}


def test_installing_all_clients_fails_with_the_first_problem():
    with raises_code(EnvironmentProblem, "made-up"):
        install([WELL, LACKING])


def test_an_unknown_version_is_a_usage_error():
    with raises_code(UsageError, "made-up"):
        install_what_can_be([WELL, WRONG])


def test_a_command_is_not_installed():
    own = ClientRef("mine", "own", ("./mine", "--fast"))
    assert install([own])[own].launch.argv == ("./mine", "--fast")
