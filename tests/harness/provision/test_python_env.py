"""A Python environment for one client, made from a folder of wheels: no network."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from harness.model.errors import EnvironmentProblem, UsageError
from harness.provision.python_env import pinned_env, python_env
from testkit.codes import raises_code

pytestmark = pytest.mark.long("uv makes environments")

WHEEL = """Wheel-Version: 1.0
Generator: kafka-trial
Root-Is-Purelib: true
Tag: py3-none-any
"""


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with ``tiny-trial`` 1.0 and 1.1 and ``plug-trial`` 2.0, all that uv finds; the cache is empty."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, version in (("tiny_trial", "1.0"), ("tiny_trial", "1.1"), ("plug_trial", "2.0")):
        info = f"{name}-{version}.dist-info"
        files = {
            f"{name}.py": f"version = {version!r}\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/WHEEL": WHEEL,
        }
        files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            for path, content in files.items():
                wheel.writestr(path, content)
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))
    return folder


def tiny_version(python: Path) -> str:
    said = subprocess.run(
        [python, "-c", "import tiny_trial; print(tiny_trial.version)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip()


def test_each_version_has_its_own_environment(wheels: Path) -> None:
    old, new = python_env("tiny-trial==1.0"), python_env("tiny-trial==1.1")
    assert (tiny_version(old), tiny_version(new)) == ("1.0", "1.1")


def test_an_environment_is_made_once(wheels: Path) -> None:
    first = python_env("tiny-trial==1.0")
    shutil.rmtree(wheels)
    assert python_env("tiny-trial==1.0") == first


def test_a_path_is_accepted_as_a_requirement(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_FIND_LINKS")
    assert tiny_version(python_env(str(wheels / "tiny_trial-1.1-py3-none-any.whl"))) == "1.1"


def test_an_unknown_version_is_a_usage_error_with_the_newest(wheels: Path) -> None:
    with raises_code(
        UsageError, "unknown-client-version", named="tiny-trial==2.0", package="tiny-trial", newest="1.1"
    ):
        python_env("tiny-trial==2.0")


def test_the_missing_one_of_several_requirements_is_named(wheels: Path) -> None:
    with raises_code(UsageError, "unknown-client-version", named="plug-trial==9.9", newest="2.0"):
        python_env("tiny-trial==1.0", "plug-trial==9.9")


def test_an_unknown_package_is_a_usage_error(wheels: Path) -> None:
    with raises_code(UsageError, "unknown-client-version", named="tiny-trail==1.0"):
        python_env("tiny-trail==1.0")


def test_an_invalid_requirement_is_a_usage_error(wheels: Path) -> None:
    with raises_code(UsageError, "requirement-format", name="tiny-trial=1"):
        python_env("tiny-trial=1")


def test_a_missing_network_is_an_environment_problem(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.delenv("UV_FIND_LINKS")
    monkeypatch.setenv("UV_OFFLINE", "1")
    with raises_code(EnvironmentProblem, "install-failed"):
        python_env("tiny-trial==1.0")


def test_pins_without_the_right_hash_are_refused(wheels: Path, tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text(f"tiny-trial==1.0 --hash=sha256:{'0' * 64}\n")
    with raises_code(EnvironmentProblem, "install-failed"):
        pinned_env("tiny-trial", pins)
