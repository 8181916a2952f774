"""Extras that are missing, damaged or of another version, and commands that cannot be loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import metadata
from pathlib import Path

import pytest

from harness.model.errors import EnvironmentProblem
from harness.system import extras
from harness.system.extras import needed, problem_of
from testkit.codes import coded, raises_code

Install = Callable[..., None]
INSTALL, INSTALL_AGAIN = "pip install 'whole[part]'", "pip install --force-reinstall 'trial_part>=2'"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a distribution ``whole``, whose extra ``part`` requires ``trial_part>=2``, and this ``trial_part``."""
    monkeypatch.syspath_prepend(tmp_path)
    # The extras of the real distribution are installed, and cannot be damaged for a test.
    monkeypatch.setattr(extras, "DISTRIBUTION", "whole")

    def distribution(name: str, text: str) -> None:
        (tmp_path / f"{name}.dist-info").mkdir()
        (tmp_path / f"{name}.dist-info" / "METADATA").write_text(text)

    def installed(meta: str = "Name: trial-part\nVersion: 2.1\n", code: str = "") -> None:
        (tmp_path / "trial_part.py").write_text(code)
        distribution("trial_part-2.1", meta)

    needs = (
        "trial_part>=2; extra == 'part'",
        "pytest",
        "pytest; python_version > '3'",
        "rich; extra == 'other'",
    )
    distribution(
        "whole-1", "Name: whole\nVersion: 1\n" + "".join(f"Requires-Dist: {each}\n" for each in needs)
    )
    monkeypatch.delitem(sys.modules, "trial_part", raising=False)
    return installed


def test_the_extras_are_those_of_the_distribution():
    assert sorted(extras.EXTRAS) == sorted(metadata("kafka-trial").get_all("Provides-Extra") or ())
    assert all(map(extras.requirements, extras.EXTRAS))


def test_an_installed_extra_is_usable(install):
    install()
    assert [str(each.name) for each in extras.requirements("part")] == ["trial_part"]
    with needed("part", "it"):
        import trial_part  # type: ignore[import-not-found]
    assert trial_part


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (
            None,
            coded("extra-not-usable", by="it", extra="part", why=re.compile("trial_part$"), command=INSTALL),
        ),
        (
            ("Name: trial-part\n", ""),
            coded("extra-not-usable", why=re.compile("trial_part$"), command=INSTALL),
        ),
        (
            ("Name: trial-part\nVersion: 1.9\n", ""),
            coded("extra-not-usable", why=re.compile(r"trial_part\b.*\b1\.9\b.*>=2$"), command=INSTALL),
        ),
        (
            ("Name: trial-part\nVersion: 2.1\n", "import trial_gone"),
            coded(
                "extra-not-usable",
                why=re.compile("ModuleNotFoundError: .*'trial_gone'$"),
                command=INSTALL_AGAIN,
            ),
        ),
        (
            ("Name: trial-part\nVersion: 2.1\n", "raise RuntimeError('torn\\nin two')"),
            coded("extra-not-usable", why=re.compile("RuntimeError: torn$"), command=INSTALL_AGAIN),
        ),
        (
            ("Name: trial-part\nVersion: 2.1\n", "import ("),
            coded("extra-not-usable", why=re.compile("SyntaxError: "), command=INSTALL_AGAIN),
        ),
    ],
)
def test_an_unusable_extra_names_the_cause_and_the_command(install, there, said):
    if there:
        install(*there)
    begun = False
    with raises_code(EnvironmentProblem, said) as caught, needed("part", "it"):
        begun = True
    assert not begun
    assert (caught.value.exit_code, caught.value.hint) == (3, "kafka-trial doctor shows the extras")


def test_a_prerelease_in_range_is_usable(install):
    install("Name: trial-part\nVersion: 3.0rc1\n")
    assert problem_of("part") is None


@pytest.mark.parametrize("error", [ImportError("cannot import name"), AttributeError("no such part")])
def test_a_failed_import_from_an_extra_is_the_same_error(install, error):
    install()
    why = re.compile(f"{type(error).__name__}: {error}$")
    with (
        raises_code(EnvironmentProblem, "extra-not-usable", by="it", extra="part", why=why),
        needed("part", "it"),
    ):
        raise error


def test_a_problem_of_another_extra_is_passed_on(install):
    install()
    with raises_code(EnvironmentProblem, "made-up"), needed("part", "it"):
        raise EnvironmentProblem("made-up", "other words")


def test_a_damaged_package_of_the_base_causes_no_traceback(tmp_path):
    (tmp_path / "kio").mkdir()
    (tmp_path / "kio" / "__init__.py").write_text("raise RuntimeError('torn\\nin two')\n")
    path, program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})",
        "from harness.cli import start; start.main()",
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", f"{path}; {program}"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3
    assert ended.stderr.splitlines() == [
        "error[package-not-importable]: a package of this environment cannot be imported: RuntimeError: torn",
        "hint: KAFKA_TRIAL_TRACEBACK=1 shows which one; install it again",
    ]
