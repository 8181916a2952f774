"""A user's package that hides one of our packages is named at the start, with its place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testkit.codes import has_error

PROGRAM = "import sys; from harness.cli.main import call; sys.exit(call(sys.argv[1:]))"
TEST = "def test_one(kafka_trial): pass"


def started(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Return how Python ended in ``folder``, which is first in its path."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    return subprocess.run(
        [sys.executable, *argv], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture
def project(tmp_path) -> Path:
    """Return a folder with a package ``clients``."""
    (tmp_path / "clients").mkdir()
    (tmp_path / "clients" / "__init__.py").write_text("OWNER = 'user'")
    return tmp_path


def test_the_command_line_names_the_package_and_its_place(project):
    ended = started(project, "-c", PROGRAM, "list", "clients")
    assert ended.returncode == 3 and ended.stdout == ""
    assert has_error(ended.stderr, "package-hidden", "clients", str(project / "clients" / "__init__.py"))


def test_a_pytest_session_names_it_when_a_test_uses_the_plugin(project):
    (project / "test_own.py").write_text(TEST)
    ended = started(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_own.py")
    assert ended.returncode != 0 and "[package-hidden]" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr


def test_a_pytest_session_without_trials_is_left_alone(project):
    (project / "test_own.py").write_text("import clients\ndef test_one(): assert clients.OWNER == 'user'")
    ended = started(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_own.py")
    assert ended.returncode == 0, ended.stdout


def test_a_folder_without_such_a_package_hides_nothing(tmp_path):
    (tmp_path / "clients").mkdir()  # no package: Python goes on to ours
    assert started(tmp_path, "-c", PROGRAM, "list", "clients").returncode == 0
