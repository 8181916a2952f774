"""Providers: the parts that they find, errors that name the distribution, and lazy imports."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module

import pytest

from clients.providers import ADAPTERS, MUTANTS
from faults.provider import FAULTS
from harness.model.errors import KafkaTrialError
from harness.plugins import registry
from harness.plugins.providers import Collected
from testkit.codes import raises_code

POINTS = {"providers": {"faults": "theirs:PROVIDER"}}
WORKING = """
    class Provider:
        def names(self):
            return ["theirs_one", "theirs_two"]

        def load(self, name):
            if name == "theirs_two":
                raise LookupError("two is not there")
            return name.upper()


    PROVIDER = Provider()
"""


def test_a_third_party_can_have_a_provider(install):
    install("theirs", WORKING, POINTS)
    assert {"theirs_one", "theirs_two", "latency"} <= set(registry.names("faults"))
    assert registry.fault("theirs_one") == "THEIRS_ONE"


def test_a_broken_part_names_its_provider(install):
    install("theirs", WORKING, POINTS)
    said = {"group": "faults", "name": "theirs_two", "source": re.compile("^theirs:PROVIDER,")}
    with raises_code(KafkaTrialError, "part-failed-to-load", **said, said="two is not there"):
        registry.fault("theirs_two")
    assert registry.fault("latency").name == "latency"


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("raise OSError('no such horn')", "no such horn"),
        ("PROVIDERS = ()", "has no attribute 'PROVIDER'"),
        ("class PROVIDER:\n    names = lambda: 1 / 0", "division by zero"),
        ("class PROVIDER:\n    names = lambda: None\n    load = None", "not iterable"),
        ("class PROVIDER:\n    names = lambda: [7]\n    load = None", "7 is no name"),
        ("class PROVIDER:\n    names = lambda: ['x']", "no attribute 'load'"),
    ],
)
def test_a_broken_provider_is_named(install, module, said):
    install("theirs", module, POINTS)
    whose = {"group": "faults", "source": re.compile("theirs:PROVIDER,")}
    with raises_code(KafkaTrialError, "provider-failed", **whose, said=re.compile(said)):
        registry.names("faults")
    assert "lost" in registry.checks()


def test_a_name_of_a_provider_and_an_entry_point_is_registered_twice(install):
    install("theirs", WORKING, POINTS | {"faults": {"theirs_one": "theirs:FAULT"}})
    both = re.compile(r"theirs:FAULT,.*theirs:PROVIDER,")
    with raises_code(KafkaTrialError, "name-registered-twice", name="theirs_one", ways=both):
        registry.fault("theirs_one")


@pytest.mark.parametrize("group", ["faults", "mutants", "clients"])
def test_listing_names_imports_no_part(group):
    program = (
        "import sys; from harness.plugins import registry\n"
        f"assert len(registry.names({group!r})) > 10\n"
        "parts = ('faults.kinds.', 'clients.mutants.', 'clients.adapters.')\n"
        "print(*(name for name in sys.modules if name.startswith(parts)))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert set(told.split()) <= {"clients.adapters.reference"}


@pytest.mark.parametrize("provider", [FAULTS, MUTANTS, ADAPTERS], ids=lambda provider: provider.package)
def test_a_part_has_the_name_of_its_file(provider):
    for name in provider.names():
        part = None if name.endswith("_lib") else provider.load(name)
        assert getattr(part, "name", name).replace("-", "_") == name


#: Finds every object of a kind after importing all modules, also those without a name in a module.
MADE = """
import gc
from importlib import import_module
from pkgutil import walk_packages

from harness.plugins import registry
from harness.plugins.{module} import {kind}

known = registry.table("{group}")
package = import_module("suites.{group}")
for each in walk_packages(package.__path__, package.__name__ + "."):
    import_module(each.name)
made = [each for each in gc.get_objects() if isinstance(each, {kind})]
assert len(made) == len(known), sorted(each.name for each in made if each is not known.get(each.name))
assert [each.name for each in known.values()] == list(known)
print(len(made))
"""


@pytest.mark.parametrize(("group", "kind"), [("checks", "Check"), ("scenarios", "Scenario")])
def test_every_object_of_a_kind_is_registered_once(group, kind):
    program = MADE.format(group=group, kind=kind, module=kind.lower())
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert told.stdout.strip() == str(len(registry.names(group))), told.stderr


PARTS = """
class Part:
    def __init__(self, name):
        self.name = name


ONE, _PRIVATE, OTHERS = Part("one"), Part("private"), [Part("in a list")]
SAME = ONE
NAME = "one"
"""


def test_objects_with_public_names_are_collected(install):
    package = install("theirs", "", {}) / "theirs_parts"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text(PARTS)
    (package / "users.py").write_text("from theirs_parts.parts import ONE, Part\nTWO = Part('two')\n")
    parts = import_module("theirs_parts.parts")

    found = Collected("theirs_parts", parts.Part)
    assert sorted(found.names()) == ["one", "two"] and found.load("one") is parts.ONE

    (package / "worse.py").write_text("from theirs_parts.parts import Part\nAGAIN = Part('two')\n")
    with pytest.raises(
        ValueError, match=r"'two' is both theirs_parts\.users:TWO and theirs_parts\.worse:AGAIN"
    ):
        Collected("theirs_parts", parts.Part).names()
